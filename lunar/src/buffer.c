/* Many frames: found by a hash table, replaced in the order of their last use (LRU). A dirty frame is in no list: it
 * makes no room before it is clean.
 *
 * The links of frame i are links[i]; links[h].first begins the chain of frames whose sectors have hash h. 0xffff ends
 * lists and chains.
 */
#include "internal.h"

#if LUNAR_WITH_BUFFER

enum { END = 0xffff };

static uint16_t number_of(const struct lunar* db, const struct lunar_frame* f) { return (uint16_t)(f - db->frames); }

static uint16_t* chain_of(struct lunar* db, uint32_t sector) {
  const uint32_t mixed = (sector * 2654435761u) >> 16;
  return &db->frames[mixed * db->frame_count >> 16].first;
}

static void append(struct lunar* db, uint16_t i) {
  struct lunar_frame* f = &db->frames[i];
  f->older = db->newest, f->newer = END;
  if (db->newest != END) db->frames[db->newest].newer = i;
  db->newest = i;
  if (db->oldest == END) db->oldest = i;
}

static void unlink(struct lunar* db, uint16_t i) {
  const struct lunar_frame* f = &db->frames[i];
  if (f->older != END)
    db->frames[f->older].newer = f->newer;
  else
    db->oldest = f->newer;
  if (f->newer != END)
    db->frames[f->newer].older = f->older;
  else
    db->newest = f->older;
}

void ln_buffer_reset(struct lunar* db) {
  db->oldest = db->newest = END;
  for (uint16_t i = 0; i < db->frame_count; i++) {
    db->frames[i].first = END;
    append(db, i);
  }
}

struct lunar_frame* ln_cached(struct lunar* db, uint32_t sector) {
  uint16_t i = *chain_of(db, sector);
  while (i != END && db->frames[i].sector != sector) i = db->frames[i].next;
  return i == END ? NULL : &db->frames[i];
}

struct lunar_frame* ln_buffer_oldest(struct lunar* db) {
  uint16_t i = db->oldest;
  while (i != END && db->frames[i].pins) i = db->frames[i].newer;
  return i == END ? NULL : &db->frames[i];
}

static void leave_chain(struct lunar* db, uint16_t i) {
  uint16_t* at = chain_of(db, db->frames[i].sector);
  while (*at != i) at = &db->frames[*at].next;
  *at = db->frames[i].next;
}

void ln_buffer_assign(struct lunar* db, struct lunar_frame* frame, uint32_t sector) {
  const uint16_t i = number_of(db, frame);
  if (frame->sector != LN_NONE) leave_chain(db, i);
  frame->sector = sector, frame->flags = frame->pins = frame->kind = 0;
  unlink(db, i);
  if (sector == LN_NONE) { /* the first to be taken again */
    db->frames[i].older = END, db->frames[i].newer = db->oldest;
    if (db->oldest != END) db->frames[db->oldest].older = i;
    db->oldest = i;
    if (db->newest == END) db->newest = i;
    return;
  }
  append(db, i);
  uint16_t* first = chain_of(db, sector);
  db->frames[i].next = *first, *first = i;
}

void ln_buffer_used(struct lunar* db, struct lunar_frame* frame) {
  const uint16_t i = number_of(db, frame);
  if (frame->flags & LN_DIRTY || db->newest == i) return;
  unlink(db, i);
  append(db, i);
}

void ln_buffer_dirty(struct lunar* db, struct lunar_frame* frame) { unlink(db, number_of(db, frame)); }
void ln_buffer_clean(struct lunar* db, struct lunar_frame* frame) { append(db, number_of(db, frame)); }

#endif
