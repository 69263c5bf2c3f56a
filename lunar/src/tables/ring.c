/* Ring tables, which remove their oldest rows. An insertion implies the removal, which needs no record. */
#include "tables.h"

#if LUNAR_WITH_RING

static int oldest_slot(struct lunar* db, uint32_t ref, uint32_t* slot, uint32_t* next) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint8_t* header = frame->bytes;
  const uint32_t slots = ln_get16(header + LN_BLOCK_SLOTS), live = ln_get16(header + LN_BLOCK_LIVE);
  *slot = ln_get16(header + LN_BLOCK_FROM);
  *next = ln_get32(header + LN_BLOCK_NEXT);
  ln_put(frame);
  for (; live && *slot < slots; ++*slot) {
    uint32_t position, end;
    LN_TRY(ln_slot_read(db, ref, *slot, &position, &end));
    if (!(position & LN_SLOT_FREE)) return 1;
  }
  return 0;
}

static int oldest_is(struct lunar* db, uint32_t ref, uint32_t slot) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  uint8_t* header = frame->bytes;
  if (ln_get16(header + LN_BLOCK_FROM) != slot) {
    ln_put16(header + LN_BLOCK_FROM, slot);
    ln_dirty(db, frame);
  }
  ln_put(frame);
  return 0;
}

/* Finds the oldest row: the first slot in use of the first block that has a row. */
int ln_ring_oldest(struct lunar* db, struct lunar_frame* meta, struct ln_place* place) {
  LUNAR_ASSERT(place);
  uint32_t ref = ln_get32(meta->bytes + LN_META_FIRST), slot, next;
  for (uint32_t steps = 0; ref != LN_NONE && steps < db->config->sector_count; steps++, ref = next) {
    int found = oldest_slot(db, ref, &slot, &next);
    if (found < 0) return found;
    if (!found) continue; /* the only block, or one that lost its rows while it was the last */
    LN_TRY(oldest_is(db, ref, slot));
    *place = (struct ln_place){ref, (uint16_t)slot};
    return 0;
  }
  return LUNAR_E_CORRUPT;
}

/* Returns 1 if the oldest row exceeds the limit of the ring after the insertion of `newest`, 0 if not, or an error. */
static int too_old(const struct lunar_table* table, struct lunar_frame* meta, const struct ln_key* newest,
                   struct ln_place oldest) {
  struct lunar* db = table->db;
  const uint8_t* m = meta->bytes;
  const uint64_t limit = ln_get64(m + LN_META_RING_LIMIT);
  uint32_t sector, offset, bytes;
  struct ln_key key;
  if (table->ring == LUNAR_RING_ROWS) return ln_get64(m + LN_META_ROWS) > limit;
  if (table->ring == LUNAR_RING_BYTES)
    return (uint64_t)ln_get32(m + LN_META_SECTORS) * db->config->sector_bytes > limit && ln_get64(m + LN_META_ROWS) > 1;
  LUNAR_ASSERT(table->ring == LUNAR_RING_AGE);
  LN_TRY(ln_row_at(db, oldest, &sector, &offset, &bytes));
  LN_TRY(ln_row_key(db, table, sector, offset, &key));
  return (int64_t)key.number < (int64_t)newest->number && newest->number - key.number > limit;
}

#if LUNAR_WITH_SECONDARY
/* Most rows that one insertion removes. Fewer if each removal also changes secondary indexes. */
static uint32_t evictions_max(const struct lunar_frame* meta) {
  return ln_get16(meta->bytes + LN_META_INDEXES) ? 2 : 4;
}
#else
#define evictions_max(meta) 4u
#endif

/* Removes the oldest rows that exceed the limit. The record of the insertion implies this, so it needs none. Removes
 * only a few rows at a time, because an operation must fit into the log with any buffer size. */
static int evict(const struct lunar_table* table, struct lunar_frame* meta, const struct ln_key* newest) {
  struct ln_place oldest;
  for (uint32_t i = 0; i < evictions_max(meta); i++) {
    LN_TRY(ln_ring_oldest(table->db, meta, &oldest));
    const int goes = too_old(table, meta, newest, oldest);
    if (goes <= 0) return goes;
    LN_TRY(ln_row_remove(table, meta, oldest));
  }
  return 0;
}

#if LUNAR_WITH_REPAIR
/* Makes the removals that were skipped while the table was damaged. A ring by age needs none: its limit depends on the
 * key of the newest row, and the next insertions remove the rows that are too old. */
int ln_ring_trim(const struct lunar_table* table) {
  struct lunar* db = table->db;
  uint64_t before, after = 0;
  if (table->ring == LUNAR_RING_AGE) return 0;
  db->changing = 1;
  do {
    struct lunar_frame* meta;
    LN_TRY(ln_make_room_for(table));
    LN_TRY(ln_table_meta(table, &meta));
    before = ln_get64(meta->bytes + LN_META_ROWS);
    const int error = before ? evict(table, meta, NULL) : 0;
    after = ln_get64(meta->bytes + LN_META_ROWS);
    ln_put(meta);
    LN_TRY(error);
  } while (after != before);
  return ln_checkpoint(db);
}
#endif

#if LUNAR_WITH_REPAIR
int ln_ring_drop_oldest(struct lunar* db, struct lunar_frame* meta) {
  struct ln_place oldest;
  LN_TRY(ln_make_room(db, 1));
  LN_TRY(ln_ring_oldest(db, meta, &oldest));
  return ln_row_drop(db, meta, oldest);
}
#endif

int ln_ring_evict(const struct lunar_table* table, struct lunar_frame* meta, const struct ln_key* newest) {
  LUNAR_ASSERT(table->ring != LUNAR_RING_NONE && newest);
  return ln_mark_damaged(table->db, meta, table->number, evict(table, meta, newest));
}

#endif
