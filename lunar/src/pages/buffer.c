/* Finds frames with a hash table and evicts them with a clock, for a buffer with many frames.
 *
 * The clock's hand moves from frame to frame and takes one chance from each; a frame without chances is evicted
 * (GCLOCK; A. Smith, ACM TODS 3(3), 1978). Pages that lead to rows have several chances. A sector of rows has one, and
 * only after a second operation has used it. The reason: a row is much larger than its part of the index, so evicting
 * by last use alone would evict the index together with the rows.
 *
 * A dirty frame is not evicted. Dirty rows wait for a checkpoint and take frames from the index. If there are too many
 * of them, the next operation begins with a checkpoint (ln_make_room). A page that waits to be written in place (log.c)
 * is evicted like a clean one, but last while an operation allocates a run of chunks.
 *
 * A sector of rows that was used by one operation only is evicted first: after an eviction the hand stays at the frame,
 * which gets the new sector. Recovery and lunar_check use the same sectors again a little later, so for them the hand
 * moves on. Recovery evicts LN_FRESH sectors last: without the frame it would not know that they need no image, and the
 * log has no room for more images than the operations needed.
 *
 * frames[h].first begins the chain of frames whose sectors have hash h. 0xffff ends a chain.
 */
#include "pages.h"

#if LUNAR_WITH_BUFFER

enum {
  END = 0xffff,
  CHANCES = 3 /* chances of a page; a sector of rows is evicted when it has this many left */
};

static uint16_t number_of(const struct lunar* db, const struct lunar_frame* f) {
  LUNAR_ASSERT(ln_is_frame(db, f));
  return (uint16_t)(f - db->frames);
}

static uint16_t* chain_of(struct lunar* db, uint32_t sector) {
  const uint32_t mixed = (sector * 2654435761u) >> 16;
  return &db->frames[mixed * db->frame_count >> 16].first;
}

void ln_buffer_reset(struct lunar* db) {
  db->rows_dirty = db->plain_dirty = db->clock = db->frames_waiting = db->waiting_next = 0;
  for (uint16_t i = 0; i < db->frame_count; i++) db->frames[i].first = END;
}

struct lunar_frame* ln_cached(struct lunar* db, uint32_t sector) {
  uint16_t i = *chain_of(db, sector);
  LUNAR_ASSERT(i == END || i < db->frame_count);
  while (i != END && db->frames[i].sector != sector) {
    i = db->frames[i].next;
    LUNAR_ASSERT(i == END || i < db->frame_count);
  }
  return i == END ? NULL : &db->frames[i];
}

struct lunar_frame* ln_buffer_oldest(struct lunar* db) {
  LUNAR_ASSERT(db->frame_count > 0 && db->clock < db->frame_count);
  for (uint32_t steps = 0; steps < (CHANCES + 3u) * db->frame_count; steps++) {
    struct lunar_frame* f = &db->frames[db->clock];
    const int needed = db->redoing ? f->flags & LN_FRESH : db->taking && ln_waits(f);
    const int stays = needed && steps < 2u * db->frame_count;
    const int clean = !f->pins && !(f->flags & LN_DIRTY) && !stays,
              goes = clean && f->used <= (f->kind == LN_DATA ? CHANCES : 0);
    if (!goes || db->redoing || db->checking)
      db->clock = (uint16_t)(db->clock + 1) < db->frame_count ? (uint16_t)(db->clock + 1) : 0;
    if (goes) return f;
    if (clean) f->used--;
  }
  return NULL;
}

static void leave_chain(struct lunar* db, uint16_t i) {
  uint16_t* at = chain_of(db, db->frames[i].sector);
  while (*at != i) at = &db->frames[*at].next;
  *at = db->frames[i].next;
}

void ln_buffer_assign(struct lunar* db, struct lunar_frame* frame, uint32_t sector) {
  LUNAR_ASSERT(sector == LN_NONE || !ln_cached(db, sector));
  const uint16_t i = number_of(db, frame);
  if (frame->sector != LN_NONE) leave_chain(db, i);
  frame->sector = sector;
  frame->flags = frame->pins = frame->kind = frame->used = 0;
  if (sector == LN_NONE) return;
  frame->used = CHANCES;
  frame->operation = db->operation;
  uint16_t* first = chain_of(db, sector);
  frame->next = *first;
  *first = i;
}

void ln_buffer_used(struct lunar* db, struct lunar_frame* frame) {
  if (frame->kind != LN_DATA)
    frame->used = CHANCES;
  else if (frame->operation != db->operation)
    frame->used = CHANCES + 1;
  frame->operation = db->operation;
}

void ln_buffer_dirty(struct lunar* db, struct lunar_frame* frame) {
  LUNAR_ASSERT(frame->flags & LN_DIRTY && !(frame->flags & LN_ROWS));
  if (frame->kind != LN_DATA) return;
  frame->flags |= LN_ROWS;
  db->rows_dirty++;
}

void ln_buffer_clean(struct lunar* db, struct lunar_frame* frame) {
  LUNAR_ASSERT(!ln_waits(frame) || db->frames_waiting > 0);
  LUNAR_ASSERT(!(frame->flags & LN_ROWS) || db->rows_dirty > 0);
  if (ln_waits(frame)) db->frames_waiting--;
  if (frame->flags & LN_ROWS) db->rows_dirty--;
  if (frame->flags & LN_PLAIN) db->plain_dirty--;
}

void ln_buffer_plain(struct lunar* db, struct lunar_frame* frame) {
  LUNAR_ASSERT(frame->flags & LN_DIRTY);
  if (!(frame->flags & LN_PLAIN)) db->plain_dirty++;
  frame->flags |= LN_PLAIN;
}

#endif
