/* The open extents: the blocks into which rows are written directly, with their groups. The extents change only with
 * records, so that recovery, which reads the records, has the same extents as the operations had.
 */
#include "space.h"

static void close_of_table(struct lunar_series* series, uint16_t table) {
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    if (series->extents[i].table == table) series->extents[i] = (struct lunar_extent){LN_NONE, LN_NONE, 0xffff, 0xffff};
}

/* After a row was put into the block of an extent: the next group of the extent follows behind the sectors of the
 * row. */
static void pass(struct lunar* db, struct lunar_series* series, const struct ln_record_header* record) {
  const uint32_t old_place = record->type == LN_MOVE_PUT ? 8 : 0; /* bytes of the old place, in front of the row */
  const uint32_t end = 4u * record->position + record->bytes - old_place;
  const uint32_t sector = record->ref + (end + db->config->sector_bytes - 1) / db->config->sector_bytes;
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    if (series->extents[i].block == record->ref && series->extents[i].sector < sector)
      series->extents[i].sector = sector;
}

/* A record of an unknown type, which only damage can cause, changes no extent. ln_redo returns E_CORRUPT for it. */
void ln_extents_follow(struct lunar* db, struct lunar_series* series, const struct ln_record_header* record) {
  LUNAR_ASSERT(series && record);
  switch (record->type) {
    case LN_OPEN:
      close_of_table(series, record->table);
      series->extents[record->slot % LUNAR_EXTENTS] = (struct lunar_extent){
          record->ref, record->ref + record->position, record->table, (uint16_t)(record->slot >> LN_OPEN_SECTORS)};
      break;
    case LN_EXTEND:
    case LN_DROP:
    case LN_TRUNCATE:
      close_of_table(series, record->table);
      break;
    case LN_PUT:
    case LN_MOVE_PUT:
      pass(db, series, record);
      break;
    case LN_INSERT:
    case LN_PATCH:
    case LN_PATCH_INDEXED:
    case LN_REMOVE:
    case LN_CREATE:
    case LN_MOVE:
      break;
  }
}
