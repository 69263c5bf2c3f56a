/* Changes of rows: in their table's blocks, in its indexes, and in the log. */
#include "tables.h"

#if LUNAR_WITH_SECONDARY
/* Updates the secondary indexes for a new row, after the primary index. Mode none cannot undo the operation: if a
 * secondary index has no room, removes the row's entry from the primary index again. */
static LN_APART int index_row(const struct ln_new_row* c, struct lunar_frame* meta, const struct ln_key* key) {
  struct lunar* db = c->table->db;
  const struct ln_source old = {.sector = c->sector, .offset = c->offset, .column = LN_NO_COLUMN};
  const struct ln_source new = {
      .values = c->values, .sector = c->sector, .offset = c->offset, .column = c->column, .value = c->value};
  const int moves = c->old.ref != LN_NONE;
  const int error = ln_secondary_change(c->table, moves ? &old : NULL, c->old, &new, c->row.place);
  if (LN_NO_ROOM(error) && db->mode == LUNAR_MODE_NONE && !moves)
    LN_TRY(ln_index_move(db, meta, key, c->row.place, (struct ln_place){LN_NONE, 0}));
  return error ? error : ln_room_stays(c->table, 0);
}
#else
#define index_row(c, meta, key) 0
#endif

int ln_row_store(struct ln_new_row* c, struct lunar_frame* meta, const struct ln_key* key) {
  LUNAR_ASSERT(c->values || !c->value == (c->column == LN_NO_COLUMN));
  LUNAR_ASSERT(key);
  struct lunar* db = c->table->db;
  LN_TRY(ln_row_room(c, meta));
  db->changing = 1;
  db->allocated_count = 0;
  if (c->old.ref == LN_NONE) LN_TRY(ln_index_insert(db, meta, key, c->row.place));
  LN_TRY(index_row(c, meta, key));
  return ln_row_write(c, meta, key);
}

int ln_row_remove(const struct lunar_table* table, struct lunar_frame* meta, struct ln_place place) {
  LUNAR_ASSERT(place.ref != LN_NONE);
  struct lunar* db = table->db;
  uint32_t sector, offset, bytes;
  struct ln_key key;
  LN_TRY(ln_secondary_forget(table, place));
  LN_TRY(ln_row_at(db, place, &sector, &offset, &bytes));
  LN_TRY(ln_row_key(db, table, sector, offset, &key));
  ln_cache_forget(table, &key);
  LN_TRY(ln_index_move(db, meta, &key, place, (struct ln_place){LN_NONE, 0}));
  LN_TRY(ln_ensure_clean(db, 2));
  return ln_row_drop(db, meta, place);
}

struct patch {
  uint8_t type;
  const struct lunar_value* value;
};

static int emit_patch(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes)) {
  const struct patch* p = context;
  return ln_value_emit(p->type, p->value, sink, put);
}

/* Returns 1 if the update needs no record, 0 if it needs one, or an error. No record is needed where recovery will not
 * write these bytes: the last checkpoint had no images, and since then no page was spilled, no record changed these
 * sectors, and no row entered the block. Modes data and full guarantee more and always need a record. */
static int needs_no_record(const struct ln_new_row* c) {
  struct lunar* db = c->table->db;
  if (db->mode == LUNAR_MODE_NONE || db->mode > LUNAR_MODE_METADATA || db->state == LN_IN_TXN || c->table->checksum ||
      db->config->atomic_write_bytes < db->config->sector_bytes)
    return 0;
  db->wants_settled = 1;
  if (!db->settled || !ln_is_plain(db, c->sector, c->offset + c->column_offset, c->column_bytes)) return 0;
  const int stamped = ln_block_stamped(db, c->old.ref);
  return stamped < 0 ? stamped : !stamped;
}

#if LUNAR_WITH_SECONDARY
static LN_APART int index_patch(const struct ln_new_row* c) {
  const struct ln_source old = {.sector = c->sector, .offset = c->offset, .column = LN_NO_COLUMN};
  const struct ln_source new = {.sector = c->sector, .offset = c->offset, .column = c->column, .value = c->value};
  c->table->db->allocated_count = 0;
  LN_TRY(ln_secondary_change(c->table, &old, c->old, &new, c->old));
  return ln_room_stays(c->table, 0);
}
#else
#define index_patch(c) 0
#endif

/* Overwrites a value with one of equal length. */
LN_APART int ln_row_patch(const struct ln_new_row* c) {
  LUNAR_ASSERT(c->value && c->column < c->table->column_count && c->old.ref != LN_NONE);
  struct lunar* db = c->table->db;
  struct patch value = {c->table->types[c->column], c->value};
  const int indexed = ln_is_indexed(c->table, c->column);
  const struct ln_record_header record = {.type = indexed ? LN_PATCH_INDEXED : LN_PATCH,
                                          .table = c->table->number,
                                          .ref = c->old.ref,
                                          .slot = c->old.slot,
                                          .position = (uint16_t)c->column_offset,
                                          .bytes = c->column_bytes};
  LN_TRY(indexed);
  const int plain = indexed ? 0 : needs_no_record(c);
  LN_TRY(plain);
  if (indexed) LN_TRY(index_patch(c));
  if (plain)
    db->no_way_back = 1;
  else
    LN_TRY(ln_log(db, &record, emit_patch, &value));
  LN_TRY(ln_value_write(db, value.type, value.value, c->sector, c->offset + c->column_offset, plain));
  return c->table->checksum ? ln_row_renew_sum(db, c->sector, c->offset, c->old_bytes) : 0;
}
