/* Finds the owner of a block in use. A repair leaves blocks that no table or index leads to: pages below a damaged page
 * of an index, and blocks of an earlier repair that was cut off. The search needs no list of all reached blocks: it
 * looks up a page of an index by one of the page's own keys, and a block of rows by the block that its header names as
 * the previous one.
 *
 * A block with an unreadable sector stays allocated, because data written there may be lost again.
 */
#include "recovery.h"

#if LUNAR_WITH_REPAIR

/* Returns the enum ln_kind of the page; LN_DATA if the sector is no page or cannot be read; or an error. */
static int kind_of(struct lunar* db, uint32_t sector) {
  const int kind = ln_page_kind(db, sector);
  if (kind >= 0) return kind;
  LN_TRY(ln_is_loss(db, kind));
  return LN_DATA;
}

/* Returns 1 if a table other than `repaired` waits for a repair, 0 if not, or an error. The repair of that table may
 * have begun to rebuild the header of a block, which then names no table. */
static int another_is_damaged(struct lunar* db, uint16_t repaired) {
  for (uint16_t number = 0; number < db->geometry.tables_max; number++) {
    struct lunar_frame* meta;
    LN_TRY(ln_meta(db, number, &meta));
    const int damaged = meta->bytes[LN_META_RING] & LN_MENDED && ln_get32(meta->bytes + LN_META_CREATION);
    ln_put(meta);
    if (damaged && number != repaired) return 1;
  }
  return 0;
}

static int leads_to(struct lunar* db, uint32_t first, uint32_t ref) {
  for (uint32_t steps = 0; first != ref && first != LN_NONE; steps++) {
    struct lunar_frame* frame;
    if (steps > db->config->sector_count) return LUNAR_E_CORRUPT;
    LN_TRY(ln_block_header(db, first, &frame));
    first = ln_get32(frame->bytes + LN_BLOCK_NEXT);
    ln_put(frame);
  }
  return first == ref;
}

/* Returns 1 if the block of rows is in the chain of the table that its header names, 0 if not, or an error. The chain
 * of a damaged table is unknown, so every block that names the table counts as its own; except for the table
 * `repaired`, whose chain is whole. A block that names no table counts as owned while another table waits for its
 * repair. */
static int is_in_chain(struct lunar* db, uint32_t ref, uint16_t repaired) {
  struct lunar_frame* frame;
  LN_TRY(ln_page(db, ref, LN_BLOCK, &frame));
  const uint16_t table = ln_get16(frame->bytes + LN_BLOCK_TABLE);
  const uint32_t previous = ln_get32(frame->bytes + LN_BLOCK_PREVIOUS),
                 serial = ln_get32(frame->bytes + LN_BLOCK_SERIAL);
  ln_put(frame);
  if (table >= db->geometry.tables_max) return another_is_damaged(db, repaired);
  LN_TRY(ln_meta(db, table, &frame));
  const uint8_t* m = frame->bytes;
  const int is_table = m[LN_META_COLUMNS] && ln_get32(m + LN_META_CREATION),
            damaged = m[LN_META_RING] & LN_MENDED && table != repaired;
  const uint32_t first = ln_get32(m + LN_META_FIRST);
  ln_put(frame);
  if (!is_table || damaged || previous == LN_NONE) return is_table && (damaged || first == ref);
  const int used = ln_used_sectors(db, previous), kind = used > 0 ? kind_of(db, previous) : 0;
  LN_TRY(used);
  LN_TRY(kind);
  int leads_here = 0;
  if (kind == LN_BLOCK) {
    LN_TRY(ln_page(db, previous, LN_BLOCK, &frame));
    leads_here = ln_get16(frame->bytes + LN_BLOCK_TABLE) == table && ln_get32(frame->bytes + LN_BLOCK_NEXT) == ref &&
                 ln_get32(frame->bytes + LN_BLOCK_SERIAL) < serial; /* leaked blocks may form a circle */
    ln_put(frame);
  } else if (kind == LN_DATA) { /* the previous block is damaged, or was freed */
    leads_here = leads_to(db, first, ref);
    if (leads_here < 0) leads_here = ln_is_loss(db, leads_here);
  }
  return leads_here;
}

/* A walk over an index, to find a block. */
struct search {
  struct ln_walk walk; /* must be first: meet_block casts it to struct search */
  uint32_t ref;
};
static int meet_block(struct ln_walk* walk, uint32_t ref, uint32_t sectors, uint32_t sector) {
  (void)sectors, (void)sector;
  return ref == ((struct search*)walk)->ref ? LUNAR_E_EXISTS : 0;
}

static int meet_entry(struct ln_walk* walk, const struct ln_key* key, struct ln_place place, uint32_t sector) {
  (void)walk, (void)key, (void)place, (void)sector;
  return 0;
}

/* Walks over the whole index. Returns 1 if the index has the block, 0 if not, or an error. Used for a block whose first
 * page is damaged, because nothing else finds it. */
static int walk_finds(struct lunar* db, struct lunar_frame* meta, uint32_t ref) {
  struct lunar_findings found;
  struct search search = {.walk = {.db = db, .found = &found, .block = meet_block, .entry = meet_entry}, .ref = ref};
  const int error = ln_index_is_given_up(meta) ? 0 : ln_index_walk(&search.walk, meta);
  return error == LUNAR_E_EXISTS ? 1 : error;
}

/* Returns 1 if the table or index of this number has the block, 0 if not, or an error. Returns 1 also if the answer
 * cannot be known because of damage. kind: kind of the block's first page. */
static int has_block(struct lunar* db, uint16_t number, uint32_t ref, int kind, uint16_t repaired) {
  struct lunar_frame* meta;
  LN_TRY(ln_meta(db, number, &meta));
  const uint8_t* m = meta->bytes;
  int has = 0;
  if (ln_get32(m + LN_META_CREATION)) {
    const int damaged = m[LN_META_RING] & LN_MENDED && number != repaired;
    if (kind != LN_DATA)
      has = ln_index_has_page(db, meta, ref, kind);
    else if (damaged)
      has = 1;
    else
      has = walk_finds(db, meta, ref);
    if (!has && kind == LN_DATA && m[LN_META_COLUMNS]) has = leads_to(db, ln_get32(m + LN_META_FIRST), ref);
  }
  ln_put(meta);
  return has < 0 ? ln_is_loss(db, has) : has;
}

static int is_anywhere(struct lunar* db, uint32_t ref, int kind, uint16_t repaired) {
  for (uint16_t number = 0; number < db->geometry.tables_max; number++) {
    const int has = has_block(db, number, ref, kind, repaired);
    if (has) return has;
  }
  return 0;
}

/* The table's own primary index does not count, because the repair builds it anew. */
int ln_is_of_another(struct lunar* db, uint32_t ref, uint16_t table) {
  const int kind = kind_of(db, ref);
  LN_TRY(kind);
  if (kind == LN_DATA) return 0;
  if (kind == LN_BLOCK) {
    struct lunar_frame* frame;
    LN_TRY(ln_page(db, ref, LN_BLOCK, &frame));
    const uint16_t owner = ln_get16(frame->bytes + LN_BLOCK_TABLE);
    ln_put(frame);
    return owner == table || owner == LN_NO_TABLE ? 0 : is_in_chain(db, ref, table);
  }
  for (uint16_t number = 0; number < db->geometry.tables_max; number++) {
    const int has = number == table ? 0 : has_block(db, number, ref, kind, table);
    if (has) return has;
  }
  return 0;
}

int ln_owner_of(struct lunar* db, uint32_t ref, uint32_t sectors, uint16_t repaired) {
  LUNAR_ASSERT(sectors > 0 && ref >= db->geometry.data_at);
  const int kind = kind_of(db, ref);
  LN_TRY(kind);
  int owned = kind == LN_BLOCK ? is_in_chain(db, ref, repaired) : 0;
  /* A block outside of every chain may be in a segment of a hash index: where the segment has no bucket yet, it has old
   * pages of any kind. */
  if (!owned) owned = is_anywhere(db, ref, kind, repaired);
  if (owned) return owned < 0 ? owned : LN_OWNED;
  const int readable = ln_can_be_read(db, ref, sectors);
  if (readable < 0) return readable;
  return readable ? LN_LEAKED : LN_LOST;
}

/* Returns 1 if ref is a block of rows whose next block lies in front of it on the device, 0 if not, or an error. */
static int leads_back(struct lunar* db, uint32_t ref) {
  struct lunar_frame* frame;
  const int kind = kind_of(db, ref);
  LN_TRY(kind);
  if (kind != LN_BLOCK) return 0;
  LN_TRY(ln_page(db, ref, LN_BLOCK, &frame));
  const uint32_t next = ln_get32(frame->bytes + LN_BLOCK_NEXT);
  ln_put(frame);
  return next < ref;
}

/* Removes the table's number from the header of a LN_LOST block. Then the header no longer makes the next block of the
 * chain count as owned. Returns 1; 0 if the header cannot be read or named no table; or an error. */
static int disown_lost(struct lunar* db, uint32_t ref) {
  struct lunar_frame* frame;
  const int kind = kind_of(db, ref);
  LN_TRY(kind);
  if (kind != LN_BLOCK) return 0;
  LN_TRY(ln_make_room(db, 1));
  LN_TRY(ln_page(db, ref, LN_BLOCK, &frame));
  const int owns = ln_get16(frame->bytes + LN_BLOCK_TABLE) != LN_NO_TABLE;
  if (owns) {
    ln_put16(frame->bytes + LN_BLOCK_TABLE, LN_NO_TABLE);
    ln_dirty(db, frame);
  }
  ln_put(frame);
  return owns;
}

/* Frees leaked blocks in one pass over the device. Sets *again if a further pass may find more of them. */
static int free_leaked(struct lunar* db, uint16_t repaired, int* again) {
  uint32_t ref = db->geometry.data_at;
  int sectors;
  while ((sectors = ln_next_used(db, &ref)) > 0) {
    const int owner = ln_owner_of(db, ref, (uint32_t)sectors, repaired);
    LN_TRY(owner);
    if (owner == LN_LEAKED) {
      const int back = leads_back(db, ref);
      LN_TRY(back);
      *again |= back;
      LN_TRY(ln_make_room(db, 1));
      LN_TRY(ln_free(db, ref));
    } else if (owner == LN_LOST) {
      const int owned = disown_lost(db, ref);
      LN_TRY(owned);
      *again |= owned;
    }
    ref += (uint32_t)sectors;
  }
  return sectors;
}

/* Repeats the pass as long as needed: a block counts as owned while another block names it as the next one, and the
 * pass may free that other block later. */
int ln_free_leaked(struct lunar* db, uint16_t repaired) {
  int again;
  do {
    again = 0;
    LN_TRY(free_leaked(db, repaired, &again));
  } while (again);
  return 0;
}

int ln_free_unowned(struct lunar* db) {
  const int waits = another_is_damaged(db, LN_NO_TABLE);
  if (waits) return waits < 0 ? waits : 0;
  return ln_free_leaked(db, LN_NO_TABLE);
}

#endif
