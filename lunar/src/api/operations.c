/* The public calls on rows.
 *
 * Each operation makes room in the log, then makes its checks, which change nothing, then changes pages in frames and
 * logs its record. From the first change on (db->changing) an error is undone by recovery.
 */
#include "api.h"

int ln_finish_change(struct lunar* db, int error) {
  error = ln_undo_change(db, error);
  if (!error) error = ln_commit_point(db);
  return ln_leave(db, error);
}

/* Makes room in the log. *meta becomes the table's metadata page, pinned. */
static int begin_change(const struct lunar_table* table, struct lunar_frame** meta) {
  LN_TRY(ln_make_room_for(table));
  return ln_table_meta(table, meta);
}

static int insert_into(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* values) {
  LUNAR_ASSERT(meta->pins > 0 && values);
  struct ln_new_row row = {
      .table = table, .values = values, .row_bytes = ln_row_bytes(table, values) + ln_row_sum_bytes(table)};
  struct ln_key key;
  uint8_t class, least;
  const int found = ln_row_find(table, meta, &values[table->key], &row.old);
  if (!found) return LUNAR_E_EXISTS;
  if (found != LUNAR_E_NOT_FOUND) return found;
  row.old = (struct ln_place){LN_NONE, 0};
  LN_TRY(ln_block_class(table->db, meta->bytes, row.row_bytes, &class, &least));
  LN_TRY(ln_key_of(table, &values[table->key], &key));
  LN_TRY(ln_row_store(&row, meta, &key));
  return table->ring ? ln_ring_evict(table, meta, &key) : 0;
}

static int insert(const struct lunar_table* table, const struct lunar_value* values) {
  struct lunar_frame* meta;
  LN_TRY(ln_argument(table->db, ln_values_check(table, values), "values"));
  LN_TRY(begin_change(table, &meta));
  const int error = insert_into(table, meta, values);
  ln_put(meta);
  return error;
}

static int get(const struct lunar_table* table, const struct lunar_value* key, void* row, size_t row_bytes,
               struct lunar_value* values) {
  struct lunar_frame* meta;
  struct ln_place place;
  const int cached = ln_cache_get(table, key, row, row_bytes, values);
  if (cached != LUNAR_E_NOT_FOUND) return cached;
  LN_TRY(ln_table_meta(table, &meta));
  const int error = ln_row_find(table, meta, key, &place);
  ln_put(meta);
  LN_TRY(error);
  LN_TRY(ln_row_get(table, place, row, row_bytes, values));
  return ln_cache_put(table, row, values);
}

static int remove_at(const struct lunar_table* table, struct lunar_frame* meta, struct ln_place place) {
  const struct ln_record_header record = {
      .type = LN_REMOVE, .table = table->number, .ref = place.ref, .slot = place.slot};
  table->db->changing = 1;
  LN_TRY(ln_row_remove(table, meta, place));
  LN_TRY(ln_room_stays(table, 1));
  return ln_log(table->db, &record, NULL, NULL);
}

static int remove_from(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* key) {
  struct ln_place place;
  LN_TRY(ln_row_find(table, meta, key, &place));
  return remove_at(table, meta, place);
}

static int remove_row(const struct lunar_table* table, const struct lunar_value* key) {
  struct lunar_frame* meta;
  LN_TRY(begin_change(table, &meta));
  const int error = remove_from(table, meta, key);
  ln_put(meta);
  return error;
}

/* Returns 1 if a record with this number of bytes fits into a group, 0 if not. A group is no larger than a unit of the
 * log. */
static int is_loggable(const struct lunar* db, uint32_t bytes) {
  const uint32_t most = LN_GROUP_HEADER + LN_RECORD_HEADER + 4 * LN_ALLOCATED(db) + 3;
  return bytes + most <= (uint32_t)db->geometry.unit_sectors * db->config->sector_bytes;
}

static int update_in(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* key,
                     uint8_t column, const struct lunar_value* value) {
  LUNAR_ASSERT(column < table->column_count && column != table->key);
  struct lunar* db = table->db;
  struct ln_new_row c = {.table = table, .column = column, .value = value};
  struct ln_key number;
  uint8_t class, least;
  const uint32_t bytes = ln_value_bytes(table->types[column], value);
  LN_TRY(ln_row_find(table, meta, key, &c.old));
  LN_TRY(ln_row_at(db, c.old, &c.sector, &c.offset, &c.old_bytes));
  if (table->checksum) { /* a damaged row gets no new checksum */
    const int whole = ln_row_is_whole(db, c.sector, c.offset, c.old_bytes);
    LN_TRY(whole);
    if (!whole) return LUNAR_E_CORRUPT;
  }
  LN_TRY(ln_row_column(db, table, c.sector, c.offset, column, &c.column_offset, &c.column_bytes));
  if (c.column_offset + c.column_bytes + ln_row_sum_bytes(table) > c.old_bytes) return LUNAR_E_CORRUPT;
  c.row_bytes = c.old_bytes - c.column_bytes + bytes;
  const int in_place = bytes == c.column_bytes && is_loggable(db, bytes);
  if (!in_place) LN_TRY(ln_block_class(db, meta->bytes, c.row_bytes, &class, &least));
  LN_TRY(ln_key_of(table, key, &number));
  ln_cache_forget(table, &number);
  db->changing = 1;
  return in_place ? ln_row_patch(&c) : ln_row_store(&c, meta, &number);
}

static int update(const struct lunar_table* table, const struct lunar_value* key, uint8_t column,
                  const struct lunar_value* value) {
  struct lunar_frame* meta;
  if (column >= table->column_count || column == table->key) return ln_argument(table->db, LUNAR_E_INVALID, "column");
  LN_TRY(ln_argument(table->db, ln_value_check(table->types[column], table->flags[column], value), "value"));
  LN_TRY(begin_change(table, &meta));
  const int error = update_in(table, meta, key, column, value);
  ln_put(meta);
  return error;
}

#if LUNAR_WITH_RING
/* Most blocks that a ring frees for one insertion. An index may need blocks of another size, and a chunk of small
 * blocks is free only when all of them are. */
enum { RING_BLOCKS_MAX = LN_CHUNK_BLOCKS_MAX };

static int remove_oldest_row(const struct lunar_table* table, struct lunar_frame* meta) {
  struct ln_place oldest;
  LN_TRY(ln_ring_oldest(table->db, meta, &oldest));
  return remove_at(table, meta, oldest);
}

/* Empties a ring that has only one block left. Only a truncation frees the last block of a table. Returns E_FULL
 * without truncating if the new row would not fit into a block of this size. */
static int empty_last_block(const struct lunar_table* table, uint32_t row_bytes, uint32_t ref) {
  struct lunar* db = table->db;
  struct lunar_frame* meta;
  uint32_t slot, tail, end;
  const int error = ln_block_room(db, ref, table->number, &slot, &tail, &end);
  if (error && error != LUNAR_E_FULL) return error; /* E_FULL: the block has no free slot */
  LN_TRY(ln_table_meta(table, &meta));
  const uint32_t fit = ln_block_rows(db, meta->bytes, end, row_bytes);
  ln_put(meta);
  return LUNAR_WITH_TRUNCATE && fit ? ln_truncate(db, table->number) : LUNAR_E_FULL;
}

/* Removes the oldest rows of a ring, one operation for each row, until one of its blocks is free. Then makes a
 * checkpoint, so that the block is available. */
static int free_oldest_block(const struct lunar_table* table, uint32_t row_bytes) {
  struct lunar* db = table->db;
  const uint32_t releases = db->releases;
  while (db->releases == releases) {
    struct lunar_frame* meta;
    LN_TRY(begin_change(table, &meta));
    const uint32_t first = ln_get32(meta->bytes + LN_META_FIRST), last = ln_get32(meta->bytes + LN_META_LAST);
    int error = first != last ? remove_oldest_row(table, meta) : 0;
    ln_put(meta);
    if (first == LN_NONE) return 0; /* the ring is already empty */
    if (first == last) error = empty_last_block(table, row_bytes, last);
    error = ln_undo_change(db, error);
    ln_operation_begins(db);
    LN_TRY(error);
  }
  return ln_checkpoint(db);
}

/* Inserts into a ring on a full device: frees blocks of the ring, one at a time, until the row has room. The room is
 * the ring's own: no row of another table moves there meanwhile, and the insertion may take the last free chunk
 * (db->reclaiming), because the ring had it before. */
static LN_APART int insert_when_full(const struct lunar_table* table, const struct lunar_value* values) {
  struct lunar* db = table->db;
  const uint32_t row_bytes = ln_row_bytes(table, values) + ln_row_sum_bytes(table);
  int error;
  uint32_t blocks = RING_BLOCKS_MAX;
  do {
    LN_TRY(free_oldest_block(table, row_bytes));
    db->reclaiming = 1;
    error = insert(table, values);
    db->reclaiming = 0;
    error = ln_undo_change(db, error);
  } while (error == LUNAR_E_FULL && --blocks && db->state == LN_READY);
  return error;
}
#else
#define insert_when_full(table, values) LUNAR_E_FULL
#endif

#if LUNAR_WITH_REPAIR
/* Repairs a ring table if its insertion, or the removal of the oldest rows that belongs to it, met damage: a program
 * that logs must be able to continue. Repeats the insertion if the damage prevented it. error: result of the insertion
 * so far. Returns the result. */
static LN_APART int repaired(const struct lunar_table* table, const struct lunar_value* values, int error) {
  struct lunar* db = table->db;
  const int damaged = ln_is_damage(db, error);
  if (!damaged && (error || db->marked != table->number + 1u)) return error;
  const int failed = ln_repair_ring(db, table->number);
  if (failed) db->state = LN_BROKEN; /* the repair is unfinished: lunar_table_open repeats it after the next mount */
  LN_TRY(failed);
  if (!damaged) return ln_ring_trim(table); /* does the removals that belong to this insertion */
  error = ln_undo_change(db, insert(table, values));
  return error == LUNAR_E_FULL && db->state == LN_READY ? insert_when_full(table, values) : error;
}
#endif

/* Inserts the values if key is NULL. Otherwise sets a column of the row with this key. */
static LN_APART int change(const struct lunar_table* table, const struct lunar_value* key, uint8_t column,
                           const struct lunar_value* values) {
  return key ? update(table, key, column, values) : insert(table, values);
}

static int change_and_finish(const struct lunar_table* table, const struct lunar_value* key, uint8_t column,
                             const struct lunar_value* values) {
  struct lunar* db = table->db;
  LN_TRY(ln_enter(db));
  const uint32_t bytes = values->type >= LUNAR_TEXT ? values->bytes : 8;
  int error = ln_reclaim_some(table, key ? bytes : ln_row_bytes(table, values));
  struct ln_attempts attempts = {.freed = db->freed};
  if (!error) {
    do error = change(table, key, column, values);
    while (ln_retry(db, &error, &attempts));
  }
  if (error == LUNAR_E_FULL && !key && table->ring && db->state == LN_READY) error = insert_when_full(table, values);
#if LUNAR_WITH_REPAIR
  if (!key && table->ring && db->state == LN_READY) error = repaired(table, values, error);
#endif
  return ln_finish_change(db, error);
}

int lunar_insert(struct lunar_table* table, const struct lunar_value* values) {
  LUNAR_ASSERT(table && values);
  return change_and_finish(table, NULL, 0, values);
}

int lunar_get(struct lunar_table* table, const struct lunar_value* key, void* row, size_t row_bytes,
              struct lunar_value* values) {
  LUNAR_ASSERT(table && key && values && (row || row_bytes == 0));
  LN_TRY(ln_enter(table->db));
  return ln_leave(table->db, get(table, key, row, row_bytes, values));
}

int lunar_update(struct lunar_table* table, const struct lunar_value* key, uint8_t column,
                 const struct lunar_value* value) {
  LUNAR_ASSERT(table && key && value);
  return change_and_finish(table, key, column, value);
}

int lunar_remove(struct lunar_table* table, const struct lunar_value* key) {
  LUNAR_ASSERT(table && key);
  LN_TRY(ln_enter(table->db));
  int error = remove_row(table, key);
#if LUNAR_WITH_SECONDARY
  struct ln_attempts attempts = {.freed = 0};
  if (ln_retry(table->db, &error, &attempts)) error = remove_row(table, key);
#endif
  return ln_finish_change(table->db, error);
}

#if LUNAR_WITH_TEXTS
int lunar_values_fault(const struct lunar_table* table, const struct lunar_value* values) {
  LUNAR_ASSERT(table && values);
  for (int i = 0; i < table->column_count; i++)
    if (ln_value_check(table->types[i], i == table->key ? LUNAR_NOT_NULL : table->flags[i], &values[i])) return i;
  return -1;
}
#endif

static int count(const struct lunar_table* table, uint64_t* rows) {
  struct lunar_frame* meta;
  LN_TRY(ln_table_meta(table, &meta));
  *rows = ln_get64(meta->bytes + LN_META_ROWS);
  ln_put(meta);
  return 0;
}

int lunar_count(struct lunar_table* table, uint64_t* rows) {
  LUNAR_ASSERT(table && rows);
  LN_TRY(ln_enter(table->db));
  return ln_leave(table->db, count(table, rows));
}
