/* Finds where a row lies and where a new one goes, and writes it: with its record in an extent, or through frames. */
#include "rows.h"

int ln_row_at(struct lunar* db, struct ln_place place, uint32_t* sector, uint32_t* offset, uint32_t* bytes) {
  uint32_t position, end;
  LN_FIELDS(header, LN_ROW_HEADER);
  LN_TRY(ln_slot_read(db, place.ref, place.slot, &position, &end));
  if (position & LN_SLOT_FREE) return LUNAR_E_CORRUPT;
  *sector = place.ref;
  *offset = 4 * position + LN_ROW_HEADER;
  ln_row_prefetch(db, place, position);
  LN_TRY(ln_read_bytes(db, *sector, 4 * position, header, sizeof header));
  *bytes = ln_get16(header);
  return *offset + *bytes <= end ? 0 : LUNAR_E_CORRUPT;
}

int ln_row_get(const struct lunar_table* table, struct ln_place place, void* row, size_t row_bytes,
               struct lunar_value* values) {
  LUNAR_ASSERT((row || row_bytes == 0) && values);
  uint32_t sector, offset, bytes;
  LN_TRY(ln_row_at(table->db, place, &sector, &offset, &bytes));
  if (bytes > row_bytes) return LUNAR_E_BUFFER;
  LN_TRY(ln_read_bytes(table->db, sector, offset, row, bytes));
#if LUNAR_WITH_CHECKSUM
  if (table->checksum) {
    if (bytes < LN_ROW_SUM) return LUNAR_E_CORRUPT;
    bytes -= LN_ROW_SUM;
    if (ln_checksum(table->db->geometry.volume, row, bytes) != ln_load32((const uint8_t*)row + bytes))
      return LUNAR_E_CORRUPT;
  }
#endif
  return ln_row_decode(table, row, bytes, values);
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

int ln_row_find(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* key,
                struct ln_place* place) {
  LUNAR_ASSERT(key && place);
  struct wanted wanted = {table, key};
  struct ln_key number;
  LN_TRY(ln_argument(table->db, ln_value_check(table->types[table->key], LUNAR_NOT_NULL, key), "key"));
  LN_TRY(ln_key_of(table, key, &number));
  return ln_index_find(table->db, meta, &number, row_matches, &wanted, place);
}

/* --- where a row goes --- */

static int is_direct(const struct lunar* db, uint32_t row_bytes) {
  return 4 * (LN_ROW_HEADER + row_bytes) >= 3 * db->config->sector_bytes;
}

static struct lunar_extent* extent_of(struct lunar* db, uint32_t ref) {
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    if (db->series.extents[i].block == ref) return &db->series.extents[i];
  return NULL;
}

/* Logs that the table has this block. tail and end: end of its rows and of the block, in bytes from its beginning.
 * row_bytes: size of the rows for which a new block has slots. direct: opens the extent behind the rows. */
static int log_block(const struct lunar_table* table, uint32_t ref, uint32_t tail, uint32_t end, uint32_t row_bytes,
                     int direct) {
  LUNAR_ASSERT(table->number < table->db->geometry.tables_max);
  struct lunar* db = table->db;
  const uint32_t size = db->config->sector_bytes;
  db->changing = 1;
  struct ln_record_header record = {.type = direct ? LN_OPEN : LN_EXTEND,
                                    .table = table->number,
                                    .ref = ref,
                                    .slot = (uint16_t)(end / size << LN_OPEN_SECTORS),
                                    .bytes = 4};
  if (direct) {
    db->extent_next = (uint8_t)((db->extent_next + 1) % LUNAR_EXTENTS);
    record.slot = (uint16_t)(record.slot | db->extent_next);
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
  uint8_t class, least;
  uint32_t ref, slot, tail, end, rows;
  int error;
  db->allocated_count = 0;
  LN_TRY(ln_ensure_clean(db, 3));
  LN_TRY(ln_block_class(db, meta->bytes, row_bytes, &class, &least));
  const uint8_t most = class;
  for (int larger = 0;;) {
    rows = ln_block_rows(db, meta->bytes, ln_class_sectors(db, class) * db->config->sector_bytes, row_bytes);
    error = ln_block_add(db, meta, table->number, class, rows, &ref);
    if (error != LUNAR_E_FULL || db->freed) break; /* a checkpoint makes freed blocks available */
    if (!larger && class > least) {
      class -= 1;
      continue;
    }
    if (!LUNAR_WITH_RING || !table->ring) break;
    class = (uint8_t)(1 + (larger ? class : most)); /* the blocks that a ring freed for the row may be larger */
    larger = 1;
    if (class == db->geometry.class_count) break;
  }
  LN_TRY(error);
  LN_TRY(ln_block_room(db, ref, table->number, &slot, &tail, &end));
  return log_block(table, ref, tail, end, rows, direct);
}

/* Returns 0 if block `ref`, the table's last, has room for the row, E_FULL if not, or an error. Sets *slot and *tail,
 * which is the row's place in the block, in bytes, unless it is direct. */
static LN_APART int room_for(const struct lunar_table* table, uint32_t ref, uint32_t row_bytes, int direct,
                             uint32_t* slot, uint32_t* tail) {
  struct lunar* db = table->db;
  const uint32_t size = db->config->sector_bytes, padded = (row_bytes + 3) & ~3u;
  uint32_t end;
  if (ref == LN_NONE) return LUNAR_E_FULL;
  LN_TRY(ln_block_room(db, ref, table->number, slot, tail, &end));
  if (!direct) return *tail + LN_ROW_HEADER + padded <= end ? 0 : LUNAR_E_FULL;
  const uint32_t most = LN_GROUP_HEADER + LN_RECORD_HEADER + 4 * LN_ALLOCATED(db) + 8 + LN_ROW_HEADER + padded;
  if (!extent_of(db, ref)) { /* its extent was closed, or only small rows came into it */
    LUNAR_ASSERT(db->allocated_count == 0);
    LN_TRY(log_block(table, ref, *tail, end, row_bytes, 1));
  }
  const uint32_t at = extent_of(db, ref)->sector;
  const uint32_t open = db->stage_used && db->stage_sector == at ? (db->stage_used + size - 1) / size : 0;
  return (at + open - ref) * size + most <= end ? 0 : LUNAR_E_FULL;
}

int ln_row_room(struct ln_new_row* new_row, struct lunar_frame* meta) {
  LUNAR_ASSERT(new_row->row_bytes > 0);
  LUNAR_ASSERT(meta->kind == LN_META && meta->pins > 0);
  struct lunar* db = new_row->table->db;
  /* A ring table keeps its rows in the order of their age. */
  const int direct = is_direct(db, new_row->row_bytes), in_order = new_row->table->ring != LUNAR_RING_NONE;
  new_row->direct = (uint8_t)direct;
  uint32_t slot, tail;
  new_row->row.room = (uint16_t)((new_row->row_bytes + 3) / 4);
  if (!direct && !in_order && !db->reclaiming) { /* a row that is moved to make room would soon have to move again */
    const int found = ln_row_reuse(db, meta, new_row->row_bytes, &new_row->row);
    if (found != LUNAR_E_NOT_FOUND) return found;
  }
  for (int added = 0;; added = 1) {
    new_row->row.place.ref = ln_get32(meta->bytes + LN_META_LAST);
    const int error = room_for(new_row->table, new_row->row.place.ref, new_row->row_bytes, direct, &slot, &tail);
    if (!error) break;
    if (error != LUNAR_E_FULL) return error;
    if (added) return LUNAR_E_TOO_LARGE;
    LN_TRY(new_block(new_row->table, meta, new_row->row_bytes, direct));
  }
  new_row->row.place.slot = (uint16_t)slot;
  new_row->row.position = (uint16_t)(tail / 4);
  new_row->appends = 1;
  return 0;
}

/* --- writing a row --- */

static int emit_old(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes, void* sink,
                    int (*put)(void* sink, const void* data, uint32_t bytes)) {
  uint8_t piece[64];
  while (bytes) {
    const uint32_t n = bytes < sizeof piece ? bytes : (uint32_t)sizeof piece;
    LN_TRY(ln_read_bytes(db, sector, offset, piece, n));
    LN_TRY(put(sink, piece, n));
    offset += n;
    bytes -= n;
  }
  return 0;
}

/* Emits the row with its new values, without its checksum. */
static int emit_values(const struct ln_new_row* c, void* sink,
                       int (*put)(void* sink, const void* data, uint32_t bytes)) {
  struct lunar* db = c->table->db;
  LN_FIELDS(head, 2);
  if (c->values) return ln_row_emit(c->table, c->values, sink, put);
  LUNAR_ASSERT(c->value && c->column < c->table->column_count);
  LN_TRY(ln_read_bytes(db, c->sector, c->offset, head, 2));
  const uint32_t bit = 1u << c->column, nulls = ln_get16(head);
  ln_put16(head, c->value->type == LUNAR_NULL ? nulls | bit : nulls & ~bit);
  LN_TRY(put(sink, head, 2));
  LN_TRY(emit_old(db, c->sector, c->offset + 2, c->column_offset - 2, sink, put));
  LN_TRY(ln_value_emit(c->table->types[c->column], c->value, sink, put));
  const uint32_t after = c->column_offset + c->column_bytes;
  return emit_old(db, c->sector, c->offset + after, c->old_bytes - ln_row_sum_bytes(c->table) - after, sink, put);
}

#if LUNAR_WITH_CHECKSUM
struct summing {
  struct ln_sum sum;
  void* sink;
  int (*put)(void* sink, const void* data, uint32_t bytes);
};

static int put_summing(void* sink, const void* data, uint32_t bytes) {
  struct summing* s = sink;
  ln_sum_add(&s->sum, data, bytes);
  return s->put(s->sink, data, bytes);
}

static LN_APART int emit_with_sum(const struct ln_new_row* c, void* sink,
                                  int (*put)(void* sink, const void* data, uint32_t bytes)) {
  struct summing s = {.sink = sink, .put = put};
  LN_FIELDS(sum, LN_ROW_SUM);
  ln_sum_begin(&s.sum, c->table->db->geometry.volume);
  LN_TRY(emit_values(c, &s, put_summing));
  ln_put32(sum, ln_sum_end(&s.sum));
  return put(sink, sum, LN_ROW_SUM);
}
#endif

static int emit_row(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes)) {
  const struct ln_new_row* c = context;
  LN_FIELDS(head, LN_ROW_HEADER);
  ln_put16(head, c->row_bytes);
  ln_put16(head + 2, c->row.room);
  LN_TRY(put(sink, head, sizeof head));
  if (!c->values && !c->value) return emit_old(c->table->db, c->sector, c->offset, c->old_bytes, sink, put);
#if LUNAR_WITH_CHECKSUM
  if (c->table->checksum) return emit_with_sum(c, sink, put);
#endif
  return emit_values(c, sink, put);
}

static int emit_move(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes)) {
  const struct ln_new_row* c = context;
  LN_FIELDS(old, 8) = {0};
  ln_put32(old, c->old.ref);
  ln_put16(old + 4, c->old.slot);
  LN_TRY(put(sink, old, sizeof old));
  return emit_row(context, sink, put);
}

struct into_frames {
  struct lunar* db;
  uint32_t sector, offset;
  int plain, appends;
};

/* Gets a frame for a sector behind all rows, without reading the sector. */
static int fresh(struct lunar* db, uint32_t sector) {
  struct lunar_frame* frame;
  LN_TRY(ln_page_fresh(db, sector, LN_DATA, &frame));
  frame->flags |= LN_FRESH;
  ln_put(frame);
  return 0;
}

/* Writes bytes of a row into frames. Sectors behind all rows are not read: they may be unreadable, and the buffer may
 * have evicted their frames since ln_row_ready. */
static int put_frames(void* sink, const void* data, uint32_t bytes) {
  struct into_frames* to = sink;
  const uint32_t size = to->db->config->sector_bytes;
  const uint8_t* from = data;
  for (uint32_t n; bytes; bytes -= n, from += n, to->offset += n) {
    const uint32_t at = to->offset % size;
    n = bytes < size - at ? bytes : size - at;
    if (to->appends && !at) LN_TRY(fresh(to->db, to->sector + to->offset / size));
    LN_TRY(ln_write_bytes(to->db, to->sector, to->offset, from, n, to->plain));
  }
  return 0;
}

int ln_row_copy(struct lunar* db, struct ln_content from, uint32_t bytes, uint32_t sector, uint32_t offset,
                int appends) {
  struct into_frames to = {db, sector, offset, 0, appends};
  return emit_old(db, from.sector, from.offset, bytes, &to, put_frames);
}

int ln_value_write(struct lunar* db, uint8_t type, const struct lunar_value* value, uint32_t sector, uint32_t offset,
                   int plain) {
  struct into_frames to = {db, sector, offset, plain, 0};
  return ln_value_emit(type, value, &to, put_frames);
}

/* Writes the row in the group of its record, which is its final place. */
static int write_direct(struct ln_new_row* c, struct ln_record_header* record) {
  struct lunar* db = c->table->db;
  const struct lunar_extent* extent = extent_of(db, record->ref);
  LUNAR_ASSERT(extent); /* ln_row_room opened it */
  const int moves = c->old.ref != LN_NONE;
  uint32_t offset = 0;
  LN_TRY(ln_row_begin(db, extent, record->bytes, &offset));
  offset += (extent->sector - record->ref) * db->config->sector_bytes + (moves ? 8 : 0);
  c->row.position = (uint16_t)(offset / 4);
  record->type = moves ? LN_MOVE : LN_INSERT;
  record->position = c->row.position;
  return ln_log_row(db, extent->sector, record, moves ? emit_move : emit_row, c);
}

int ln_row_link(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                const struct ln_row* row, uint32_t row_bytes) {
  LUNAR_ASSERT(row->place.ref != LN_NONE);
  LN_TRY(ln_ensure_clean(db, 2));
  LN_TRY(ln_row_add(db, meta, row, row_bytes));
  if (from.ref == LN_NONE) return 0;
  LN_TRY(ln_index_move(db, meta, key, from, row->place));
  LN_TRY(ln_ensure_clean(db, 2));
  return ln_row_drop(db, meta, from);
}

static int write_row(struct ln_new_row* c) {
  struct lunar* db = c->table->db;
  const int moves = c->old.ref != LN_NONE;
  struct ln_record_header record = {.table = c->table->number,
                                    .ref = c->row.place.ref,
                                    .slot = c->row.place.slot,
                                    .bytes = LN_ROW_HEADER + c->row_bytes + (moves ? 8u : 0)};
  if (c->direct) return write_direct(c, &record);
  struct into_frames to = {db, record.ref, 4u * c->row.position, 0, c->appends};
  record.type = moves ? LN_MOVE_PUT : LN_PUT;
  record.position = c->row.position;
  LN_TRY(ln_log(db, &record, moves ? emit_move : emit_row, c));
  LN_TRY(emit_row(c, &to, put_frames));
  ln_extents_follow(db, &db->series, &record);
  return 0;
}

int ln_row_ready(struct lunar* db, const struct ln_row* row, uint32_t row_bytes, int appends) {
  const uint32_t size = db->config->sector_bytes, begin = 4u * row->position, end = begin + LN_ROW_HEADER + row_bytes;
  for (uint32_t at = begin; at < end; at += size - at % size) {
    uint8_t byte;
    if (!appends || at % size)
      LN_TRY(ln_read_bytes(db, row->place.ref, at, &byte, 1));
    else
      LN_TRY(fresh(db, row->place.ref + at / size));
  }
  return 0;
}

int ln_row_write(struct ln_new_row* c, struct lunar_frame* meta, const struct ln_key* key) {
  LUNAR_ASSERT(c->row.place.ref != LN_NONE);
  struct lunar* db = c->table->db;
  LN_TRY(ln_slot_touch(db, c->row.place.ref, c->row.place.slot));
  if (!c->direct) LN_TRY(ln_row_ready(db, &c->row, c->row_bytes, c->appends));
  LN_TRY(ln_ensure_clean(db, 3));
  LN_TRY(write_row(c));
  return ln_row_link(db, meta, key, c->old, &c->row, c->row_bytes);
}
