/* The open extents: the blocks whose rows are written in place at once. Each change of them follows from a record, so
 * that a reader of the records has the extents that their writer had.
 */
#include "space.h"

static void close_of_table(struct lunar_series* series, uint16_t table) {
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    if (series->extents[i].table == table) series->extents[i] = (struct lunar_extent){LN_NONE, LN_NONE, 0xffff, 0xffff};
}

/* A row that was put behind the rows of an extent takes its sectors. */
static void pass(struct lunar* db, struct lunar_series* series, const struct ln_record_header* record) {
  const uint32_t old_place = record->type == LN_MOVE_PUT ? 8 : 0; /* it comes before the row */
  const uint32_t end = 4u * record->position + record->bytes - old_place;
  const uint32_t sector = record->ref + (end + db->config->sector_bytes - 1) / db->config->sector_bytes;
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    if (series->extents[i].block == record->ref && series->extents[i].sector < sector)
      series->extents[i].sector = sector;
}

/* A record of an unknown type, which only damage makes, moves none; ln_redo answers E_CORRUPT to it. */
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
