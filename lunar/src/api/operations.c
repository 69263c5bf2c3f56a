/* Operations on rows, their repetition from the log, and transactions.
 *
 * Each operation: room, then its checks, which change nothing; then its changes in frames; then its record. What fails
 * after the checks is undone by recovery. redo makes the same changes from the record.
 */
#include "../internal.h"

int ln_lock(struct lunar* db) {
  if (!db || !db->config) return LUNAR_E_INVALID;
  if (db->config->lock) db->config->lock(db->config);
  db->allocated_count = 0;
  db->no_way_back = 0;
  db->changing = 0;
  ln_buffer_operation(db);
  if (db->state == LN_CLOSED) return LUNAR_E_INVALID;
  if (*db->holder != db) return LUNAR_E_BUSY;
  return db->state == LN_BROKEN ? LUNAR_E_FAILED : 0;
}

int ln_enter_for_commit(struct lunar* db) {
  const int error = ln_lock(db);
  return error && db && db->config ? ln_leave(db, error) : error;
}

int ln_enter(struct lunar* db) {
  LN_TRY(ln_enter_for_commit(db));
  return db->state == LN_TXN_LOST ? ln_leave(db, LUNAR_E_TXN) : 0;
}

int ln_leave(struct lunar* db, int error) {
  if (db->config->unlock) db->config->unlock(db->config);
  return error;
}

/* Rolls back to what is committed; returns `error`, or the device's error if the rollback itself failed. A transaction
 * rolled back by an error stays lost until the caller ends it: later operations in it must not take effect on their
 * own. The handle ends where there is no way back: after a failed write, once the operation is recorded or has changed
 * rows in place, and in mode none, which has no log. */
int ln_undo(struct lunar* db, int error) {
  const int in_transaction = db->state == LN_IN_TXN;
  if (db->state == LN_BROKEN) return error;
  if (db->mode == LUNAR_MODE_NONE && error == LUNAR_E_FULL)
    return error; /* it sees to room before it changes anything */
  int failed = db->mode == LUNAR_MODE_NONE || db->no_way_back ? LUNAR_E_FAILED : ln_settle_plain(db, 0, LN_NONE);
  if (!failed && !in_transaction) failed = ln_stage_write(db, 0); /* the operations before this one */
  if (!failed) failed = ln_recover(db);
  if (failed)
    db->state = LN_BROKEN;
  else if (in_transaction && error)
    db->state = LN_TXN_LOST;
  return failed == LUNAR_E_IO ? failed : error;
}

int ln_undo_change(struct lunar* db, int error) {
  if (error && db->changing) error = ln_undo(db, error);
  db->changing = 0;
  return error;
}

/* What was freed since a checkpoint is given out after the next one: an operation that found no room has another try
 * then. *freed: db->freed before it; 0 after it, so that there is one only. */
int ln_retry_after_checkpoint(struct lunar* db, int* error, int* freed) {
  *error = ln_undo_change(db, *error);
#if LUNAR_WITH_SECONDARY
  /* Many indexes changed much at once: a log without anything else has room for that. */
  if (*error == LUNAR_E_TXN_FULL && db->indexes && db->state == LN_READY && *freed < 2) {
    *freed = 2;
    return 1;
  }
#endif
  if (*error != LUNAR_E_FULL || !*freed || db->state != LN_READY) return 0;
  *freed = 0;
  if (!db->freed) return 1; /* the way back led over a checkpoint */
  const int failed = ln_checkpoint(db);
  if (failed) *error = failed;
  return !failed;
}

static int is_direct(const struct lunar* db, uint32_t row_bytes) {
  return 4 * (LN_ROW_HEADER + row_bytes) >= 3 * db->config->sector_bytes;
}

int ln_row_at(struct lunar* db, struct ln_place place, uint32_t* sector, uint32_t* offset, uint32_t* bytes) {
  uint32_t position;
  LN_FIELDS(header, LN_ROW_HEADER);
  LN_TRY(ln_slot_read(db, place.ref, place.slot, &position));
  if (position & LN_SLOT_FREE) return LUNAR_E_CORRUPT;
  *sector = ln_ref_sector(db, place.ref), *offset = 4 * position + LN_ROW_HEADER;
  ln_row_prefetch(db, place, position);
  LN_TRY(ln_read_bytes(db, *sector, 4 * position, header, sizeof header));
  *bytes = ln_get16(header);
  return *offset + *bytes <= ln_class_sectors(db, ln_ref_class(place.ref)) * db->config->sector_bytes ? 0
                                                                                                      : LUNAR_E_CORRUPT;
}

struct wanted {
  const struct lunar_table* table;
  const struct lunar_value* key;
};

static int row_matches(void* context, struct ln_place place) {
  const struct wanted* w = context;
  uint32_t sector, offset, bytes;
  if (w->key->type != LUNAR_TEXT && w->key->type != LUNAR_BLOB) return 1;
  LN_TRY(ln_row_at(w->table->db, place, &sector, &offset, &bytes));
  return ln_row_has_key(w->table->db, w->table, sector, offset, w->key);
}

static int find(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* key,
                struct ln_place* place) {
  struct wanted wanted = {table, key};
  struct ln_key number;
  LN_TRY(ln_value_check(table->types[table->key], LUNAR_NOT_NULL, key));
  LN_TRY(ln_key_of(table, key, &number));
  return ln_index_find(table->db, meta, &number, row_matches, &wanted, place);
}

/* --- where a row goes --- */

static struct lunar_extent* extent_of(struct lunar* db, uint32_t ref) {
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    if (db->series.extents[i].block == ref) return &db->series.extents[i];
  return NULL;
}

/* Says in the log that the table has this block, whose rows end at tail; direct: its extent is open from there on. */
static int log_block(const struct lunar_table* table, uint32_t ref, uint32_t tail, uint32_t row_bytes, int direct) {
  struct lunar* db = table->db;
  const uint32_t size = db->config->sector_bytes;
  struct ln_record_header record = {
      .type = direct ? LN_OPEN : LN_EXTEND, .table = table->number, .ref = ref, .bytes = 4};
  if (direct) {
    record.slot = db->extent_next = (uint8_t)((db->extent_next + 1) % LUNAR_EXTENTS);
    record.position = (uint16_t)((tail + size - 1) / size);
  }
  LN_FIELDS(rows, 4);
  ln_put32(rows, row_bytes);
  LN_TRY(ln_log_bytes(db, &record, rows));
  ln_extents_follow(db, &db->series, &record);
  db->allocated_count = 0;
  return 0;
}

static LN_APART int new_block(const struct lunar_table* table, struct lunar_frame* meta, uint32_t row_bytes,
                              int direct) {
  struct lunar* db = table->db;
  uint8_t class;
  uint32_t ref, slot, tail, end;
  db->allocated_count = 0;
  LN_TRY(ln_ensure_clean(db, 3));
  LN_TRY(ln_block_class(db, meta->bytes, row_bytes, &class));
  LN_TRY(ln_block_add(db, meta, table->number, class, row_bytes, &ref));
  LN_TRY(ln_block_room(db, ref, table->number, &slot, &tail, &end));
  return log_block(table, ref, tail, row_bytes, direct);
}

/* Whether the table's last block has room for the row: *slot and, for a row through the log, *tail. E_FULL: it has not.
 */
static LN_APART int room_for(const struct lunar_table* table, uint32_t ref, uint32_t row_bytes, int direct,
                             uint32_t* slot, uint32_t* tail) {
  struct lunar* db = table->db;
  const uint32_t size = db->config->sector_bytes, padded = (row_bytes + 3) & ~3u;
  uint32_t end;
  if (ref == LN_NONE) return LUNAR_E_FULL;
  LN_TRY(ln_block_room(db, ref, table->number, slot, tail, &end));
  if (!direct) return *tail + LN_ROW_HEADER + padded <= end ? 0 : LUNAR_E_FULL;
  const uint32_t most = LN_GROUP_HEADER + LN_RECORD_HEADER + 4 * LN_ALLOCATED(db) + 8 + LN_ROW_HEADER + padded;
  if (!extent_of(db, ref)) /* it was open before, or has had small rows only */
    LN_TRY(log_block(table, ref, *tail, row_bytes, 1));
  const uint32_t at = extent_of(db, ref)->sector;
  const uint32_t open = db->stage_used && db->stage_sector == at ? (db->stage_used + size - 1) / size : 0;
  return (at + open - ln_ref_sector(db, ref)) * size + most <= end ? 0 : LUNAR_E_FULL;
}

/* --- rows that are made --- */

/* The row to write: from values, or an old row with one column replaced. */
struct content {
  const struct lunar_table* table;
  const struct lunar_value* values; /* NULL: of the old row */
  struct ln_row row;
  uint32_t row_bytes;
  /* the old row */
  struct ln_place old;
  uint32_t sector, offset, old_bytes, column_offset, column_bytes;
  uint8_t column;
  const struct lunar_value* value;
};

static int emit_old(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes, void* sink,
                    int (*put)(void* sink, const void* data, uint32_t bytes)) {
  uint8_t piece[64];
  while (bytes) {
    const uint32_t n = bytes < sizeof piece ? bytes : (uint32_t)sizeof piece;
    LN_TRY(ln_read_bytes(db, sector, offset, piece, n));
    LN_TRY(put(sink, piece, n));
    offset += n, bytes -= n;
  }
  return 0;
}

static int emit_row(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes)) {
  const struct content* c = context;
  struct lunar* db = c->table->db;
  LN_FIELDS(head, LN_ROW_HEADER);
  ln_put16(head, c->row_bytes), ln_put16(head + 2, c->row.room);
  LN_TRY(put(sink, head, sizeof head));
  if (c->values) return ln_row_emit(c->table, c->values, sink, put);
  LN_TRY(ln_read_bytes(db, c->sector, c->offset, head, 2));
  const uint32_t bit = 1u << c->column, nulls = ln_get16(head);
  ln_put16(head, c->value->type == LUNAR_NULL ? nulls | bit : nulls & ~bit);
  LN_TRY(put(sink, head, 2));
  LN_TRY(emit_old(db, c->sector, c->offset + 2, c->column_offset - 2, sink, put));
  LN_TRY(ln_value_emit(c->table->types[c->column], c->value, sink, put));
  const uint32_t after = c->column_offset + c->column_bytes;
  return emit_old(db, c->sector, c->offset + after, c->old_bytes - after, sink, put);
}

static int emit_move(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes)) {
  const struct content* c = context;
  LN_FIELDS(old, 8) = {0};
  ln_put32(old, c->old.ref), ln_put16(old + 4, c->old.slot);
  LN_TRY(put(sink, old, sizeof old));
  return emit_row(context, sink, put);
}

struct into_frames {
  struct lunar* db;
  uint32_t sector, offset;
};

static int put_frames(void* sink, const void* data, uint32_t bytes) {
  struct into_frames* to = sink;
  LN_TRY(ln_write_bytes(to->db, to->sector, to->offset, data, bytes));
  to->offset += bytes;
  return 0;
}

/* The index's and the block's part of a new row. from: the row's old place, LN_NONE: there was none. */
static int link_row(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                    const struct ln_row* row, uint32_t row_bytes) {
  LN_TRY(ln_ensure_clean(db, 2));
  LN_TRY(ln_row_add(db, meta, row, row_bytes));
  if (from.ref == LN_NONE) return 0;
  LN_TRY(ln_index_move(db, meta, key, from, row->place));
  LN_TRY(ln_ensure_clean(db, 2));
  return ln_row_drop(db, meta, from);
}

#if LUNAR_WITH_SECONDARY
/* The secondary indexes' part of a new row, after the primary one's: what has no room there leaves that as it was. */
static LN_APART int index_row(const struct content* c, struct lunar_frame* meta, const struct ln_key* key) {
  struct lunar* db = c->table->db;
  const struct ln_source old = {.sector = c->sector, .offset = c->offset, .column = LN_NO_COLUMN};
  const struct ln_source new = {
      .values = c->values, .sector = c->sector, .offset = c->offset, .column = c->column, .value = c->value};
  const int moves = c->old.ref != LN_NONE;
  const int error = ln_secondary_change(c->table, moves ? &old : NULL, c->old, &new, c->row.place);
  if (error == LUNAR_E_FULL && db->mode == LUNAR_MODE_NONE && !moves)
    LN_TRY(ln_index_move(db, meta, key, c->row.place, (struct ln_place){LN_NONE, 0}));
  return error ? error : ln_room_stays(c->table, 0);
}
#else
#define index_row(c, meta, key) 0
#endif

/* Stores the row and logs it. What is changed when this fails, the caller undoes. */
static int store(struct content* c, struct lunar_frame* meta, const struct ln_key* key) {
  struct lunar* db = c->table->db;
  const int direct = is_direct(db, c->row_bytes), moves = c->old.ref != LN_NONE;
  uint32_t ref, slot, tail, offset = 0;
  c->row.room = (uint16_t)((c->row_bytes + 3) / 4);
  const int in_order = c->table->ring != LUNAR_RING_NONE; /* of age */
  int found = direct || in_order ? LUNAR_E_NOT_FOUND : ln_row_reuse(db, meta, c->row_bytes, &c->row);
  if (found && found != LUNAR_E_NOT_FOUND) return found;
  if (found) {
    int error = room_for(c->table, ln_get32(meta->bytes + LN_META_LAST), c->row_bytes, direct, &slot, &tail);
    if (error == LUNAR_E_FULL) {
      LN_TRY(new_block(c->table, meta, c->row_bytes, direct));
      error = room_for(c->table, ln_get32(meta->bytes + LN_META_LAST), c->row_bytes, direct, &slot, &tail);
      if (error == LUNAR_E_FULL) error = LUNAR_E_TOO_LARGE;
    }
    LN_TRY(error);
    c->row.place = (struct ln_place){ln_get32(meta->bytes + LN_META_LAST), (uint16_t)slot};
    c->row.position = (uint16_t)(tail / 4);
  }
  ref = c->row.place.ref, slot = c->row.place.slot;
  struct ln_record_header record = {.table = c->table->number,
                                    .ref = ref,
                                    .slot = (uint16_t)slot,
                                    .bytes = LN_ROW_HEADER + c->row_bytes + (moves ? 8u : 0)};
  const ln_emit emit = moves ? emit_move : emit_row;
  db->allocated_count = 0;
  if (!moves) LN_TRY(ln_index_insert(db, meta, key, c->row.place));
  LN_TRY(index_row(c, meta, key));
  LN_TRY(ln_slot_touch(db, ref, slot));
  LN_TRY(ln_ensure_clean(db, 3));
  if (direct) {
    const struct lunar_extent* extent = extent_of(db, ref);
    LN_TRY(ln_row_begin(db, extent, record.bytes, &offset));
    c->row.position =
        (uint16_t)(((extent->sector - ln_ref_sector(db, ref)) * db->config->sector_bytes + offset + (moves ? 8 : 0)) /
                   4);
    record.type = moves ? LN_MOVE : LN_INSERT, record.position = c->row.position;
    LN_TRY(ln_log_row(db, extent->sector, &record, emit, c));
  } else {
    struct into_frames to = {db, ln_ref_sector(db, ref), 4u * c->row.position};
    record.type = moves ? LN_MOVE_PUT : LN_PUT, record.position = c->row.position;
    LN_TRY(ln_log(db, &record, emit, c));
    LN_TRY(emit_row(c, &to, put_frames));
    ln_extents_follow(db, &db->series, &record);
  }
  return link_row(db, meta, key, c->old, &c->row, c->row_bytes);
}

int ln_row_remove(const struct lunar_table* table, struct lunar_frame* meta, struct ln_place place) {
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

static int insert_into(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* values) {
  struct content content = {.table = table, .values = values, .row_bytes = ln_row_bytes(table, values)};
  struct ln_key key;
  uint8_t class;
  const int found = find(table, meta, &values[table->key], &content.old);
  if (!found) return LUNAR_E_EXISTS;
  if (found != LUNAR_E_NOT_FOUND) return found;
  content.old = (struct ln_place){LN_NONE, 0};
  LN_TRY(ln_block_class(table->db, meta->bytes, content.row_bytes, &class));
  LN_TRY(ln_key_of(table, &values[table->key], &key));
  table->db->changing = 1;
  LN_TRY(store(&content, meta, &key));
  return table->ring ? ln_ring_evict(table, meta, &key) : 0;
}

static int insert(const struct lunar_table* table, const struct lunar_value* values) {
  struct lunar_frame* meta;
  LN_TRY(ln_values_check(table, values));
  LN_TRY(ln_make_room_for(table));
  LN_TRY(ln_table_meta(table, &meta));
  const int error = insert_into(table, meta, values);
  ln_put(meta);
  return error;
}

/* --- the other operations --- */

int ln_row_get(const struct lunar_table* table, struct ln_place place, void* row, size_t row_bytes,
               struct lunar_value* values) {
  uint32_t sector, offset, bytes;
  LN_TRY(ln_row_at(table->db, place, &sector, &offset, &bytes));
  if (bytes > row_bytes) return LUNAR_E_BUFFER;
  LN_TRY(ln_read_bytes(table->db, sector, offset, row, bytes));
  return ln_row_decode(table, row, bytes, values);
}

static int get(const struct lunar_table* table, const struct lunar_value* key, void* row, size_t row_bytes,
               struct lunar_value* values) {
  struct lunar_frame* meta;
  struct ln_place place;
  const int cached = ln_cache_get(table, key, row, row_bytes, values);
  if (cached != LUNAR_E_NOT_FOUND) return cached;
  LN_TRY(ln_table_meta(table, &meta));
  const int error = find(table, meta, key, &place);
  ln_put(meta);
  LN_TRY(error);
  LN_TRY(ln_row_get(table, place, row, row_bytes, values));
  return ln_cache_put(table, row, values);
}

static int remove_from(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* key) {
  struct ln_place place;
  LN_TRY(find(table, meta, key, &place));
  const struct ln_record_header record = {
      .type = LN_REMOVE, .table = table->number, .ref = place.ref, .slot = place.slot};
  table->db->changing = 1;
  LN_TRY(ln_row_remove(table, meta, place));
  LN_TRY(ln_room_stays(table, 1));
  return ln_log(table->db, &record, NULL, NULL);
}

static int remove_row(const struct lunar_table* table, const struct lunar_value* key) {
  struct lunar_frame* meta;
  LN_TRY(ln_make_room_for(table));
  LN_TRY(ln_table_meta(table, &meta));
  const int error = remove_from(table, meta, key);
  ln_put(meta);
  return error;
}

struct patch {
  uint8_t type;
  const struct lunar_value* value;
};

static int emit_patch(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes)) {
  const struct patch* p = context;
  return ln_value_emit(p->type, p->value, sink, put);
}

/* Whether recovery leaves these bytes as they are, so that they need no record: it puts nothing back, and no record or
 * group since the last checkpoint has them. Modes disorder and metadata keep no more than that. */
static int needs_no_record(const struct content* c) {
  struct lunar* db = c->table->db;
  if (db->mode == LUNAR_MODE_NONE || db->mode > LUNAR_MODE_METADATA || db->state == LN_IN_TXN ||
      db->config->atomic_write_bytes < db->config->sector_bytes)
    return 0;
  db->wants_settled = 1;
  if (!db->settled || !ln_is_plain(db, c->sector, c->offset + c->column_offset, c->column_bytes)) return 0;
  const int stamped = ln_block_stamped(db, c->old.ref);
  return stamped < 0 ? stamped : !stamped;
}

static int put_plain(void* sink, const void* data, uint32_t bytes) {
  struct into_frames* to = sink;
  LN_TRY(ln_write_plain(to->db, to->sector, to->offset, data, bytes));
  to->offset += bytes;
  return 0;
}

#if LUNAR_WITH_SECONDARY
static LN_APART int index_patch(const struct content* c) {
  const struct ln_source old = {.sector = c->sector, .offset = c->offset, .column = LN_NO_COLUMN};
  const struct ln_source new = {.sector = c->sector, .offset = c->offset, .column = c->column, .value = c->value};
  c->table->db->allocated_count = 0;
  LN_TRY(ln_secondary_change(c->table, &old, c->old, &new, c->old));
  return ln_room_stays(c->table, 0);
}
#else
#define index_patch(c) 0
#endif

/* The same number of bytes: where they are. */
static LN_APART int patch(const struct content* c) {
  struct lunar* db = c->table->db;
  struct patch value = {c->table->types[c->column], c->value};
  const int indexed = ln_is_indexed(c->table, c->column);
  const struct ln_record_header record = {.type = indexed ? LN_PATCH_INDEXED : LN_PATCH,
                                          .table = c->table->number,
                                          .ref = c->old.ref,
                                          .slot = c->old.slot,
                                          .position = (uint16_t)c->column_offset,
                                          .bytes = c->column_bytes};
  struct into_frames to = {db, c->sector, c->offset + c->column_offset};
  LN_TRY(indexed);
  const int plain = indexed ? 0 : needs_no_record(c);
  LN_TRY(plain);
  if (indexed) LN_TRY(index_patch(c));
  if (plain) {
    db->no_way_back = 1;
    return emit_patch(&value, &to, put_plain);
  }
  LN_TRY(ln_log(db, &record, emit_patch, &value));
  return emit_patch(&value, &to, put_frames);
}

static int update_in(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* key,
                     uint8_t column, const struct lunar_value* value) {
  struct lunar* db = table->db;
  struct content c = {.table = table, .column = column, .value = value};
  struct ln_key number;
  uint8_t class;
  const uint32_t bytes = ln_value_bytes(table->types[column], value);
  LN_TRY(find(table, meta, key, &c.old));
  LN_TRY(ln_row_at(db, c.old, &c.sector, &c.offset, &c.old_bytes));
  LN_TRY(ln_row_column(db, table, c.sector, c.offset, column, &c.column_offset, &c.column_bytes));
  if (c.column_offset + c.column_bytes > c.old_bytes) return LUNAR_E_CORRUPT;
  c.row_bytes = c.old_bytes - c.column_bytes + bytes;
  if (bytes != c.column_bytes) LN_TRY(ln_block_class(db, meta->bytes, c.row_bytes, &class));
  LN_TRY(ln_key_of(table, key, &number));
  ln_cache_forget(table, &number);
  db->changing = 1;
  return bytes == c.column_bytes ? patch(&c) : store(&c, meta, &number);
}

static int update(const struct lunar_table* table, const struct lunar_value* key, uint8_t column,
                  const struct lunar_value* value) {
  struct lunar_frame* meta;
  if (column >= table->column_count || column == table->key) return LUNAR_E_INVALID;
  LN_TRY(ln_value_check(table->types[column], table->flags[column], value));
  LN_TRY(ln_make_room_for(table));
  LN_TRY(ln_table_meta(table, &meta));
  const int error = update_in(table, meta, key, column, value);
  ln_put(meta);
  return error;
}

static int done(struct lunar* db, int error) {
  error = ln_undo_change(db, error);
  if (!error) error = ln_commit_point(db);
  return ln_leave(db, error);
}

int lunar_insert(struct lunar_table* table, const struct lunar_value* values) {
  LN_TRY(ln_enter(table->db));
  int freed = table->db->freed, error;
  do error = insert(table, values);
  while (ln_retry_after_checkpoint(table->db, &error, &freed));
  return done(table->db, error);
}

int lunar_get(struct lunar_table* table, const struct lunar_value* key, void* row, size_t row_bytes,
              struct lunar_value* values) {
  LN_TRY(ln_enter(table->db));
  return ln_leave(table->db, get(table, key, row, row_bytes, values));
}

int lunar_update(struct lunar_table* table, const struct lunar_value* key, uint8_t column,
                 const struct lunar_value* value) {
  LN_TRY(ln_enter(table->db));
  int freed = table->db->freed, error;
  do error = update(table, key, column, value);
  while (ln_retry_after_checkpoint(table->db, &error, &freed));
  return done(table->db, error);
}

int lunar_remove(struct lunar_table* table, const struct lunar_value* key) {
  LN_TRY(ln_enter(table->db));
  int error = remove_row(table, key);
#if LUNAR_WITH_SECONDARY
  int freed = 0;
  if (ln_retry_after_checkpoint(table->db, &error, &freed)) error = remove_row(table, key);
#endif
  return done(table->db, error);
}

static int count(const struct lunar_table* table, uint64_t* rows) {
  struct lunar_frame* meta;
  LN_TRY(ln_table_meta(table, &meta));
  *rows = ln_get64(meta->bytes + LN_META_ROWS);
  ln_put(meta);
  return 0;
}

int lunar_count(struct lunar_table* table, uint64_t* rows) {
  LN_TRY(ln_enter(table->db));
  return ln_leave(table->db, count(table, rows));
}

/* --- transactions --- */

static int begin(struct lunar* db) {
  if (db->state == LN_IN_TXN) return LUNAR_E_TXN;
  if (db->mode == LUNAR_MODE_NONE) return LUNAR_E_UNSUPPORTED;
  LN_TRY(ln_stage_write(db, 0)); /* what was before does not share a group with the transaction */
  LN_TRY(ln_make_room(db, 4));   /* three quarters of what the log can take are left for it */
  db->state = LN_IN_TXN, db->parts = 0;
  return 0;
}

static int commit(struct lunar* db) {
  if (db->state != LN_IN_TXN) return LUNAR_E_TXN;
  const int error = ln_commit_group(db);
  if (error) return ln_undo(db, error);
  db->state = LN_READY;
  return ln_commit_point(db);
}

static int rollback(struct lunar* db) {
  if (db->state == LN_TXN_LOST) return 0;
  if (db->state != LN_IN_TXN) return LUNAR_E_TXN;
  LN_TRY(ln_undo(db, 0));
  return db->state == LN_BROKEN ? LUNAR_E_FAILED : 0;
}

/* A lost transaction ends here too. */
static int ended(struct lunar* db, int error) {
  if (db->state == LN_TXN_LOST) db->state = LN_READY;
  return ln_leave(db, error);
}

int lunar_begin(struct lunar* db) {
  LN_TRY(ln_enter(db));
  return ln_leave(db, begin(db));
}

int lunar_commit(struct lunar* db) {
  LN_TRY(ln_enter_for_commit(db));
  return ended(db, commit(db));
}

int lunar_rollback(struct lunar* db) {
  LN_TRY(ln_enter_for_commit(db));
  return ended(db, rollback(db));
}

/* --- the same from the log --- */

#if LUNAR_WITH_SECONDARY
static LN_APART int index_again(const struct lunar_table* table, struct ln_place from, const struct ln_row* row) {
  struct lunar* db = table->db;
  struct ln_source old = {.column = LN_NO_COLUMN};
  const struct ln_source new = {.sector = ln_ref_sector(db, row->place.ref),
                                .offset = 4u * row->position + LN_ROW_HEADER,
                                .column = LN_NO_COLUMN};
  uint32_t bytes;
  if (from.ref != LN_NONE) LN_TRY(ln_row_at(db, from, &old.sector, &old.offset, &bytes));
  return ln_secondary_change(table, from.ref == LN_NONE ? NULL : &old, from, &new, row->place);
}

/* Which column the bytes are of follows from where they lie: NULL has none. */
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
#define index_again(table, from, row) 0
#endif

static LN_APART int redo_row(struct lunar* db, const struct ln_record_header* r, struct ln_content content) {
  struct lunar_table table;
  struct lunar_frame* meta;
  LN_FIELDS(head, 8);
  struct ln_place from = {LN_NONE, 0};
  const uint32_t ahead = r->type == LN_MOVE || r->type == LN_MOVE_PUT ? 8 : 0;
  const uint32_t sector = ln_ref_sector(db, r->ref);
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
    struct into_frames to = {db, sector, 4u * r->position};
    LN_TRY(emit_old(db, content.sector, content.offset + ahead, LN_ROW_HEADER + row_bytes, &to, put_frames));
  }
  struct ln_key key;
  LN_TRY(ln_row_key(db, &table, sector, 4u * r->position + LN_ROW_HEADER, &key));
  LN_TRY(ln_meta(db, r->table, &meta));
  int error = ahead ? 0 : ln_index_insert(db, meta, &key, row.place);
  if (!error) error = index_again(&table, from, &row);
  if (!error) error = link_row(db, meta, &key, from, &row, row_bytes);
  if (!error && table.ring && !ahead) error = ln_ring_evict(&table, meta, &key);
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
  LN_TRY(ln_row_at(db, (struct ln_place){r->ref, r->slot}, &sector, &offset, &bytes));
  if ((uint32_t)r->position + r->bytes > bytes) return LUNAR_E_CORRUPT;
#if LUNAR_WITH_SECONDARY
  if (r->type == LN_PATCH_INDEXED) LN_TRY(index_patched(db, r, sector, offset, content));
#endif
  struct into_frames to = {db, sector, offset + r->position};
  return emit_old(db, content.sector, content.offset, r->bytes, &to, put_frames);
}

static LN_APART int redo_block(struct lunar* db, const struct ln_record_header* r, struct ln_content content) {
  struct lunar_frame* meta;
  LN_FIELDS(rows, 4);
  uint32_t ref;
  if (db->allocated_count == 0) return 0; /* a block that the table had is opened again */
  LN_TRY(ln_read_bytes(db, content.sector, content.offset, rows, sizeof rows));
  LN_TRY(ln_ensure_clean(db, 3));
  LN_TRY(ln_meta(db, r->table, &meta));
  const int error = ln_block_add(db, meta, r->table, ln_ref_class(r->ref), ln_get32(rows), &ref);
  ln_put(meta);
  return error;
}

int ln_redo(struct lunar* db, const struct ln_record_header* record, struct ln_content content) {
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
    default:
      return LUNAR_E_CORRUPT;
  }
}
