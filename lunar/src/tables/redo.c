/* Redo: repeats an operation from its log record, without the checks that came before it. */
#include "tables.h"

#if LUNAR_WITH_SECONDARY
static LN_APART int redo_index_insert(const struct lunar_table* table, struct ln_place from, const struct ln_row* row) {
  struct lunar* db = table->db;
  struct ln_source old = {.column = LN_NO_COLUMN};
  const struct ln_source new = {
      .sector = row->place.ref, .offset = 4u * row->position + LN_ROW_HEADER, .column = LN_NO_COLUMN};
  uint32_t bytes;
  if (from.ref != LN_NONE) LN_TRY(ln_row_at(db, from, &old.sector, &old.offset, &bytes));
  return ln_secondary_change(table, from.ref == LN_NONE ? NULL : &old, from, &new, row->place);
}

/* Updates the indexes of the column that a PATCH_INDEXED record changes. Finds the column from the byte range; a NULL
 * column occupies no bytes and never matches. */
static LN_APART int index_patched(struct lunar* db, const struct ln_record_header* r, uint32_t sector, uint32_t offset,
                                  struct ln_content content) {
  const struct ln_place place = {r->ref, r->slot};
  const struct ln_source old = {.sector = sector, .offset = offset, .column = LN_NO_COLUMN};
  struct lunar_table table;
  LN_TRY(ln_table_load(db, r->table, &table));
  for (uint8_t i = 0; r->bytes && i < table.column_count; i++) {
    uint32_t column_offset, column_bytes;
    LN_TRY(ln_row_column(db, &table, sector, offset, i, &column_offset, &column_bytes));
    if (column_offset != r->position || column_bytes != r->bytes) continue;
    const struct ln_source new = {.sector = sector, .offset = offset, .column = i, .stored = content};
    return ln_secondary_change(&table, &old, place, &new, place);
  }
  return r->bytes ? LUNAR_E_CORRUPT : 0;
}
#else
#define redo_index_insert(table, from, row) 0
#endif

/* If the row lies behind all rows of its block, prepares its sectors as ln_row_write did. Without this, recovery would
 * log before images of the sectors, and need more of the log than the operation did. Returns 1 if the row lies behind
 * all rows, 0 if not, or an error. */
static LN_APART int ready_sectors(struct lunar* db, const struct ln_record_header* r, const struct ln_row* row,
                                  uint32_t row_bytes) {
  uint32_t slot, tail, end;
  const int error = ln_block_room(db, r->ref, r->table, &slot, &tail, &end);
  if (error) return error == LUNAR_E_FULL ? 0 : error; /* E_FULL: no new slot is left, the row goes to a freed one */
  if (slot != r->slot || 4u * r->position < tail) return 0;
  if (4u * r->position + LN_ROW_HEADER + row_bytes > end) return LUNAR_E_CORRUPT;
  LN_TRY(ln_row_ready(db, row, row_bytes, 1));
  return 1;
}

static LN_APART int redo_row(struct lunar* db, const struct ln_record_header* r, struct ln_content content) {
  struct lunar_table table;
  struct lunar_frame* meta;
  LN_FIELDS(head, 8);
  struct ln_place from = {LN_NONE, 0};
  const uint32_t ahead = r->type == LN_MOVE || r->type == LN_MOVE_PUT ? 8 : 0;
  const uint32_t sector = r->ref;
  LN_TRY(ln_table_load(db, r->table, &table));
  if (ahead) {
    LN_TRY(ln_read_bytes(db, content.sector, content.offset, head, 8));
    from = (struct ln_place){ln_get32(head), ln_get16(head + 4)};
  }
  LN_TRY(ln_read_bytes(db, content.sector, content.offset + ahead, head, LN_ROW_HEADER));
  const struct ln_row row = {{r->ref, r->slot}, r->position, ln_get16(head + 2)};
  const uint32_t row_bytes = ln_get16(head);
  if (r->bytes != ahead + LN_ROW_HEADER + row_bytes) return LUNAR_E_CORRUPT;
  if (r->type == LN_PUT || r->type == LN_MOVE_PUT) {
    const int appends = ready_sectors(db, r, &row, row_bytes);
    LN_TRY(appends);
    const struct ln_content row_at = {content.sector, content.offset + ahead};
    LN_TRY(ln_row_copy(db, row_at, LN_ROW_HEADER + row_bytes, sector, 4u * r->position, appends));
  }
  struct ln_key key;
  LN_TRY(ln_row_key(db, &table, sector, 4u * r->position + LN_ROW_HEADER, &key));
  LN_TRY(ln_meta(db, r->table, &meta));
  int error = ahead ? 0 : ln_index_insert(db, meta, &key, row.place);
  if (!error) error = redo_index_insert(&table, from, &row);
  if (error && db->redoing & LN_SKIPPING) {
    error = ln_mark_damaged(db, meta, r->table, error); /* the row stays, without index entries */
    if (!error) error = ln_row_add(db, meta, &row, row_bytes);
    if (!error && from.ref != LN_NONE) error = ln_row_drop(db, meta, from);
  } else {
    if (!error) error = ln_row_link(db, meta, &key, from, &row, row_bytes);
    if (!error && table.ring && !ahead) error = ln_ring_evict(&table, meta, &key);
  }
  ln_put(meta);
  return error;
}

static LN_APART int redo_remove(struct lunar* db, const struct ln_record_header* r) {
  struct lunar_table table;
  struct lunar_frame* meta;
  LN_TRY(ln_table_load(db, r->table, &table));
  LN_TRY(ln_meta(db, r->table, &meta));
  const int error = ln_row_remove(&table, meta, (struct ln_place){r->ref, r->slot});
  ln_put(meta);
  return error;
}

static LN_APART int redo_patch(struct lunar* db, const struct ln_record_header* r, struct ln_content content) {
  uint32_t sector, offset, bytes;
#if LUNAR_WITH_CHECKSUM
  struct lunar_table table;
  LN_TRY(ln_table_load(db, r->table, &table));
#endif
  LN_TRY(ln_row_at(db, (struct ln_place){r->ref, r->slot}, &sector, &offset, &bytes));
  if ((uint32_t)r->position + r->bytes > bytes) return LUNAR_E_CORRUPT;
#if LUNAR_WITH_SECONDARY
  if (r->type == LN_PATCH_INDEXED) LN_TRY(index_patched(db, r, sector, offset, content));
#endif
  LN_TRY(ln_row_copy(db, content, r->bytes, sector, offset + r->position, 0));
#if LUNAR_WITH_CHECKSUM
  if (table.checksum) return ln_row_renew_sum(db, sector, offset, bytes);
#endif
  return 0;
}

static LN_APART int redo_block(struct lunar* db, const struct ln_record_header* r, struct ln_content content) {
  struct lunar_frame* meta;
  LN_FIELDS(rows, 4);
  uint32_t ref;
  if (db->allocated_count == 0) return 0; /* the record reopens a block that the table already has */
  const uint8_t class = ln_class_of(db, (uint32_t)r->slot >> LN_OPEN_SECTORS);
  if (class == db->geometry.class_count) return LUNAR_E_CORRUPT;
  LN_TRY(ln_read_bytes(db, content.sector, content.offset, rows, sizeof rows));
  LN_TRY(ln_ensure_clean(db, 3));
  LN_TRY(ln_meta(db, r->table, &meta));
  const int error = ln_block_add(db, meta, r->table, class, ln_get32(rows), &ref);
  ln_put(meta);
  return error;
}

static int redo(struct lunar* db, const struct ln_record_header* record, struct ln_content content) {
  switch (record->type) {
    case LN_OPEN:
    case LN_EXTEND:
      return redo_block(db, record, content);
    case LN_INSERT:
    case LN_PUT:
    case LN_MOVE:
    case LN_MOVE_PUT:
      return redo_row(db, record, content);
    case LN_PATCH:
#if LUNAR_WITH_SECONDARY
    case LN_PATCH_INDEXED:
#endif
      return redo_patch(db, record, content);
    case LN_REMOVE:
      return redo_remove(db, record);
    case LN_CREATE:
      return ln_table_redo_create(db, record->table, content, record->bytes);
    case LN_DROP:
      return ln_table_redo_drop(db, record->table);
    case LN_TRUNCATE:
#if LUNAR_WITH_TRUNCATE
      return ln_table_redo_truncate(db, record->table);
#else
      return LUNAR_E_UNSUPPORTED;
#endif
#if !LUNAR_WITH_SECONDARY
    case LN_PATCH_INDEXED:
      break;
#endif
  }
  return LUNAR_E_CORRUPT;
}

/* With config.skip_unreadable, damage to the pages that a record changes marks the table, and recovery continues. */
int ln_redo(struct lunar* db, const struct ln_record_header* record, struct ln_content content) {
  LUNAR_ASSERT(db->redoing & LN_REDOING);
  if (db->frames_dirty * 4u >= ln_dirty_max(db) * 3u) LN_TRY(ln_write_in_place(db, 1)); /* as in ln_make_room */
  const int error = redo(db, record, content);
#if LUNAR_WITH_REPAIR
  struct lunar_frame* meta;
  if (error && db->state != LN_BROKEN && db->redoing & LN_SKIPPING) {
    LN_TRY(ln_meta(db, record->table, &meta));
    const int marked = ln_mark_damaged(db, meta, record->table, error);
    ln_put(meta);
    return marked;
  }
#endif
  return error;
}
