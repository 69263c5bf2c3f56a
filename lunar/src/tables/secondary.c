/* Secondary indexes: an entry for each row of a table by one of its columns.
 *
 * An index has a number and a metadata page like a table, but no columns and no blocks. The metadata page of the table
 * lists the numbers of its indexes. hash.c and tree.c work on a copy of the index's metadata page, so that no frame is
 * pinned for it.
 *
 * The key of a hash index is the value, if it is a number, or the hash of TEXT or BLOB. Several entries may have the
 * same key.
 *
 * The key of a tree begins with a byte, 0 for NULL or 1. The value follows, as bytes that compare in the order of the
 * values. In TEXT and BLOB, a byte 0 becomes the bytes 0 and 255, and two bytes 0 end the value; what exceeds the room
 * is cut off. Then follows the primary key, which makes the key unique: the bytes of a number, or the hash of TEXT or
 * BLOB and the row's place. With a number, a row that moves keeps its key.
 */
#include "tables.h"

#if LUNAR_WITH_SECONDARY

enum {
  INDEX_SECTORS = 8,        /* log sectors per index for a row, and in a ring table as many for the rows removed */
  INDEX_SECTORS_SPLIT = 16, /* the same if pages are split, in an otherwise empty log */
  PLACE_BYTES = 6           /* of a row's place in a key */
};

static const uint64_t null_hash = 0x6c6c756e;

struct index {
  struct lunar_frame meta; /* of the copy; not one of the buffer's frames */
  LN_FIELDS(numbers, LN_META_INDEXES);
  uint16_t number;
  uint8_t kind, column;
};

static int is_bytes(uint8_t type) { return type == LUNAR_TEXT || type == LUNAR_BLOB; }

static int kind_known(uint8_t kind) {
  return kind == LUNAR_INDEX_HASH || (LUNAR_WITH_TREE && kind == LUNAR_INDEX_TREE);
}

/* --- the metadata page --- */

static void index_begin(struct index* index, uint16_t number) {
  index->number = number;
  index->meta = (struct lunar_frame){.bytes = index->numbers, .sector = LN_NONE, .flags = LN_DIRTY};
}

static int index_read(const struct lunar_table* table, uint16_t number, struct index* index) {
  struct lunar_frame* page;
  LN_TRY(ln_meta(table->db, number, &page));
  const uint8_t* m = index->numbers;
  index_begin(index, number);
  memcpy(index->numbers, page->bytes, sizeof index->numbers);
  ln_put(page);
  index->kind = m[LN_META_INDEX];
  index->column = m[LN_META_KEY];
  if (m[LN_META_LATER]) return LUNAR_E_UNSUPPORTED;
  return m[LN_META_COLUMNS] == 0 && ln_get32(m + LN_META_CREATION) && ln_get16(m + LN_META_TABLE) == table->number &&
                 index->column < table->column_count && kind_known(index->kind)
             ? 0
             : LUNAR_E_CORRUPT;
}

static int index_write(struct lunar* db, const struct index* index) {
  LUNAR_ASSERT(index->number < db->geometry.tables_max);
  struct lunar_frame* page;
  LN_TRY(ln_meta(db, index->number, &page));
  if (memcmp(page->bytes + LN_META_ROWS, index->numbers + LN_META_ROWS, sizeof index->numbers - LN_META_ROWS) != 0) {
    memcpy(page->bytes + LN_META_ROWS, index->numbers + LN_META_ROWS, sizeof index->numbers - LN_META_ROWS);
    ln_dirty(db, page);
  }
  ln_put(page);
  return 0;
}

int ln_secondary_list(struct lunar* db, uint16_t number, uint16_t numbers[LUNAR_INDEXES_MAX]) {
  struct lunar_frame* meta;
  int count = 0;
  LN_TRY(ln_meta(db, number, &meta));
  for (; count < LUNAR_INDEXES_MAX; count++) {
    const uint32_t listed = ln_get16(meta->bytes + LN_META_INDEXES + 2 * count);
    if (listed == 0) break;
    numbers[count] = (uint16_t)(listed - 1);
  }
  ln_put(meta);
  return count;
}

/* --- keys --- */

/* A column's value: a number, or bytes in RAM (data) or on the device (data NULL: at sector and offset). */
struct column {
  uint8_t type, null;
  uint64_t number;
  const uint8_t* data;
  uint32_t sector, offset, bytes;
};

static uint32_t width(uint8_t type) {
  const struct lunar_value any = {.type = LUNAR_INT64};
  return ln_value_bytes(type, &any);
}

static void number_is(struct column* column, uint64_t bits) {
  if (column->type == LUNAR_REAL && bits << 1 == 0) bits = 0; /* -0.0 equals 0.0 */
  column->number = bits;
}

static void column_given(const struct lunar_value* value, uint8_t type, struct column* column) {
  uint64_t bits = (uint64_t)value->as.integer;
  *column = (struct column){.type = type, .null = value->type == LUNAR_NULL};
  if (column->null) return;
  if (is_bytes(type)) {
    column->data = value->as.data;
    column->bytes = value->bytes;
    return;
  }
  if (type == LUNAR_REAL) memcpy(&bits, &value->as.real, sizeof bits);
  number_is(column, bits);
}

static int column_stored(struct lunar* db, struct ln_content at, uint8_t type, struct column* column) {
  LN_FIELDS(number, 8) = {0};
  const uint32_t bytes = width(type);
  *column = (struct column){.type = type, .sector = at.sector, .offset = at.offset + 2};
  LN_TRY(ln_read_bytes(db, at.sector, at.offset, number, bytes));
  if (is_bytes(type)) {
    column->bytes = ln_get16(number);
    return 0;
  }
  const uint32_t shift = type == LUNAR_REAL || type == LUNAR_BOOLEAN ? 0 : 64 - 8 * bytes;
  number_is(column, (uint64_t)((int64_t)(ln_get64(number) << shift) >> shift));
  return 0;
}

static int column_of(const struct lunar_table* table, const struct ln_source* source, uint8_t number,
                     struct column* column) {
  LUNAR_ASSERT(number < table->column_count);
  const uint8_t type = table->types[number];
  const int replaced = source->column == number;
  const struct lunar_value* value = NULL;
  if (source->values)
    value = &source->values[number];
  else if (replaced)
    value = source->value;
  uint32_t offset, bytes;
  if (value) {
    column_given(value, type, column);
    return 0;
  }
  if (replaced) return column_stored(table->db, source->stored, type, column);
  LN_TRY(ln_row_column(table->db, table, source->sector, source->offset, number, &offset, &bytes));
  *column = (struct column){.type = type, .null = 1};
  if (bytes == 0) return 0;
  return column_stored(table->db, (struct ln_content){source->sector, source->offset + offset}, type, column);
}

/* Passes the first bytes of the value, at most `most`, to `take` in pieces. */
static int each_piece(struct lunar* db, const struct column* column, uint32_t most, void* context,
                      void (*take)(void* context, const uint8_t* piece, uint32_t bytes)) {
  uint8_t piece[64];
  const uint32_t bytes = column->bytes < most ? column->bytes : most;
  if (column->data) {
    take(context, column->data, bytes);
    return 0;
  }
  for (uint32_t at = 0, n; at < bytes; at += n) {
    n = bytes - at < sizeof piece ? bytes - at : (uint32_t)sizeof piece;
    LN_TRY(ln_read_bytes(db, column->sector, column->offset + at, piece, n));
    take(context, piece, n);
  }
  return 0;
}

struct sums {
  struct ln_sum high, low;
};

static void take_sums(void* context, const uint8_t* piece, uint32_t bytes) {
  struct sums* sums = context;
  ln_sum_add(&sums->high, piece, bytes);
  ln_sum_add(&sums->low, piece, bytes);
}

static int hash_of(struct lunar* db, const struct column* column, uint64_t* hash) {
  LUNAR_ASSERT(column && hash);
  struct sums sums;
  *hash = column->null ? null_hash : column->number;
  if (column->null || !is_bytes(column->type)) return 0;
  ln_sum_begin(&sums.high, db->geometry.volume);
  ln_sum_begin(&sums.low, ~db->geometry.volume);
  LN_TRY(each_piece(db, column, LN_NONE, &sums, take_sums));
  *hash = (uint64_t)ln_sum_end(&sums.high) << 32 | ln_sum_end(&sums.low);
  return 0;
}

#if LUNAR_WITH_TREE
static void put_number(struct ln_key* key, uint64_t number, uint32_t bytes) {
  LUNAR_ASSERT(key->count + bytes <= LUNAR_TREE_KEY_MAX);
  while (bytes-- > 0) key->bytes[key->count++] = (uint8_t)(number >> 8 * bytes);
}

static void put_ordered(struct ln_key* key, const struct column* column) {
  LUNAR_ASSERT(!is_bytes(column->type));
  const uint32_t bytes = width(column->type);
  const uint64_t sign = (uint64_t)1 << (8 * bytes - 1), number = column->number;
  put_number(key, column->type == LUNAR_REAL && number & sign ? ~number : number ^ sign, bytes);
}

struct cut {
  struct ln_key* key;
  uint32_t end;
};

static void put_cut(struct cut* cut, uint8_t byte) {
  if (cut->key->count < cut->end) cut->key->bytes[cut->key->count++] = byte;
}

static void take_cut(void* context, const uint8_t* piece, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i++) {
    put_cut(context, piece[i]);
    if (piece[i] == 0) put_cut(context, 0xff);
  }
}

static uint32_t suffix_bytes(const struct lunar_table* table) {
  const uint8_t type = table->types[table->key];
  return is_bytes(type) ? 8 + PLACE_BYTES : width(type);
}

/* Builds the part of a key before the primary key. */
static int ordered(const struct lunar_table* table, const struct column* column, struct ln_key* key) {
  struct cut cut = {key, LUNAR_TREE_KEY_MAX - suffix_bytes(table)};
  key->bytes[0] = !column->null;
  key->count = 1;
  if (column->null) return 0;
  if (!is_bytes(column->type)) {
    put_ordered(key, column);
    return 0;
  }
  LN_TRY(each_piece(table->db, column, LUNAR_TREE_KEY_MAX, &cut, take_cut));
  put_cut(&cut, 0);
  put_cut(&cut, 0);
  return 0;
}

static int tree_key(const struct lunar_table* table, const struct ln_source* source, const struct column* column,
                    struct ln_place place, struct ln_key* key) {
  struct column primary;
  uint64_t hash;
  LN_TRY(ordered(table, column, key));
  LN_TRY(column_of(table, source, table->key, &primary));
  if (!is_bytes(primary.type)) {
    put_ordered(key, &primary);
    return 0;
  }
  LN_TRY(hash_of(table->db, &primary, &hash));
  put_number(key, hash, 8);
  put_number(key, place.ref, 4);
  put_number(key, place.slot, 2);
  return 0;
}
#endif

static int key_of(const struct lunar_table* table, uint8_t kind, uint8_t number, const struct ln_source* source,
                  struct ln_place place, struct ln_key* key) {
  struct column column;
  LN_TRY(column_of(table, source, number, &column));
#if LUNAR_WITH_TREE
  if (kind == LUNAR_INDEX_TREE) return tree_key(table, source, &column, place, key);
#endif
  (void)kind, (void)place;
  return hash_of(table->db, &column, &key->number);
}

int ln_secondary_row_key(const struct lunar_table* table, uint8_t kind, uint8_t column, struct ln_place place,
                         uint32_t sector, uint32_t offset, struct ln_key* key) {
  const struct ln_source source = {.sector = sector, .offset = offset, .column = LN_NO_COLUMN};
  return key_of(table, kind, column, &source, place, key);
}

/* --- entries --- */

static int put_entry(struct lunar* db, struct index* index, const struct ln_key* key, struct ln_place place) {
  uint8_t* rows = index->numbers + LN_META_ROWS;
#if LUNAR_WITH_TREE
  if (index->kind == LUNAR_INDEX_TREE)
    LN_TRY(ln_tree_insert(db, &index->meta, key, place));
  else
#endif
    LN_TRY(ln_hash_enter(db, &index->meta, key->number, place));
  ln_put64(rows, ln_get64(rows) + 1);
  return 0;
}

static int take_entry(struct lunar* db, struct index* index, const struct ln_key* key, struct ln_place place) {
  uint8_t* rows = index->numbers + LN_META_ROWS;
#if LUNAR_WITH_TREE
  if (index->kind == LUNAR_INDEX_TREE)
    LN_TRY(ln_tree_move(db, &index->meta, key, place, (struct ln_place){LN_NONE, 0}));
  else
#endif
    LN_TRY(ln_hash_leave(db, &index->meta, key->number, place));
  ln_put64(rows, ln_get64(rows) - 1);
  return 0;
}

static int same_key(uint8_t kind, const struct ln_key* a, const struct ln_key* b) {
#if LUNAR_WITH_TREE
  if (kind == LUNAR_INDEX_TREE) return a->count == b->count && memcmp(a->bytes, b->bytes, a->count) == 0;
#endif
  (void)kind;
  return a->number == b->number;
}

struct change {
  const struct lunar_table* table;
  const struct ln_source *old, *new;
  struct ln_place from, to;
};

/* GIVE_UP removes what ENTER inserted. */
enum step { ENTER, LEAVE, GIVE_UP };

static LN_APART int step(const struct change* c, uint16_t number, enum step step) {
  struct lunar* db = c->table->db;
  struct index index;
  struct ln_key key, was;
  LN_TRY(index_read(c->table, number, &index));
  const int moves = c->from.ref != c->to.ref || c->from.slot != c->to.slot;
  LUNAR_ASSERT(moves || c->new);
  LUNAR_ASSERT(step == LEAVE ? c->old != NULL : c->new != NULL);
  if (!moves && index.column != c->new->column) return 0;
  if (c->new) LN_TRY(key_of(c->table, index.kind, index.column, c->new, c->to, &key));
  if (c->old) LN_TRY(key_of(c->table, index.kind, index.column, c->old, c->from, &was));
  const int stays = c->new && c->old&& same_key(index.kind, &key, &was);
  if (step == LEAVE && stays && moves)
    LN_TRY(ln_index_move(db, &index.meta, &was, c->from, c->to));
  else if (step == LEAVE && !stays)
    LN_TRY(take_entry(db, &index, &was, c->from));
  else if (step == ENTER && !stays)
    LN_TRY(put_entry(db, &index, &key, c->to));
  else if (step == GIVE_UP && !stays)
    LN_TRY(take_entry(db, &index, &key, c->to));
  return index_write(db, &index);
}

int ln_secondary_change(const struct lunar_table* table, const struct ln_source* old, struct ln_place from,
                        const struct ln_source* new, struct ln_place to) {
  LUNAR_ASSERT(old || new);
  const struct change change = {table, old, new, from, to};
  uint16_t numbers[LUNAR_INDEXES_MAX];
  const int count = ln_secondary_list(table->db, table->number, numbers);
  int error = count < 0 ? count : 0, i = 0;
  while (new && !error && i < count) error = step(&change, numbers[i++], ENTER);
  if (LN_NO_ROOM(error) && table->db->mode == LUNAR_MODE_NONE) /* mode none has no log to undo the change */
    for (i--; i-- > 0;) LN_TRY(step(&change, numbers[i], GIVE_UP));
  for (i = 0; old && !error && i < count; i++) error = step(&change, numbers[i], LEAVE);
  return error;
}

int ln_secondary_forget(const struct lunar_table* table, struct ln_place place) {
  struct ln_source old = {.column = LN_NO_COLUMN};
  uint32_t bytes;
  LN_TRY(ln_row_at(table->db, place, &old.sector, &old.offset, &bytes));
  return ln_secondary_change(table, &old, place, NULL, (struct ln_place){LN_NONE, 0});
}

int ln_is_indexed(const struct lunar_table* table, uint8_t column) {
  LUNAR_ASSERT(column < table->column_count);
  uint16_t numbers[LUNAR_INDEXES_MAX];
  struct index index;
  int count = ln_secondary_list(table->db, table->number, numbers), found = 0;
  LN_TRY(count);
  while (count-- > 0 && !found) {
    LN_TRY(index_read(table, numbers[count], &index));
    found = index.column == column;
  }
  return found;
}

/* --- room in the log --- */

/* Returns the sectors of the log that a change of a row needs for this number of indexes. An insertion into a ring
 * table also removes rows, after its record. */
static uint32_t sectors_for(const struct lunar_table* table, uint32_t indexes) {
  return INDEX_SECTORS * indexes * (table->ring ? 2 : 1);
}

int ln_make_room_for(const struct lunar_table* table) {
  struct lunar* db = table->db;
  uint16_t numbers[LUNAR_INDEXES_MAX];
  const int count = ln_secondary_list(db, table->number, numbers);
  LN_TRY(count);
  db->indexes = (uint8_t)count;
  db->index_sectors = (uint16_t)sectors_for(table, db->indexes);
  return ln_make_room(db, 1);
}

/* --- creation and dropping --- */

int ln_is_table(struct lunar* db, uint16_t number) {
  struct lunar_frame* meta;
  LN_TRY(ln_meta(db, number, &meta));
  const int columns = meta->bytes[LN_META_COLUMNS];
  ln_put(meta);
  return columns ? 0 : LUNAR_E_NO_TABLE;
}

/* Removes the index from the table's list. */
static int unlist(struct lunar* db, uint16_t table, uint16_t number) {
  struct lunar_frame* meta;
  LN_TRY(ln_meta(db, table, &meta));
  uint8_t* const list = meta->bytes + LN_META_INDEXES;
  uint32_t i = 0, last = LUNAR_INDEXES_MAX - 1;
  while (i < last && ln_get16(list + 2 * i) != number + 1u) i++;
  const int found = meta->bytes[LN_META_COLUMNS] && ln_get16(list + 2 * i) == number + 1u;
  if (found) {
    memmove(list + 2 * i, list + 2 * i + 2, 2 * (last - i));
    ln_put16(list + 2 * last, 0);
    if (ln_get16(list) == 0) meta->bytes[LN_META_RING] &= (uint8_t)~LN_INDEXED;
    ln_dirty(db, meta);
  }
  ln_put(meta);
  return 0; /* not found: a build without secondary indexes dropped the table */
}

/* Calls `call` with the number of each index of the table. */
int ln_secondary_each(struct lunar* db, uint16_t number, int (*call)(struct lunar* db, uint16_t number)) {
  uint16_t numbers[LUNAR_INDEXES_MAX];
  struct lunar_table table;
  struct index index;
  const int count = ln_secondary_list(db, number, numbers);
  LN_TRY(count);
  if (count) LN_TRY(ln_table_load(db, number, &table));
  for (int i = 0; i < count; i++) {
    LN_TRY(index_read(&table, numbers[i], &index));
    LN_TRY(call(db, numbers[i]));
  }
  return 0;
}

int ln_secondary_drop(struct lunar* db, uint16_t number) {
  struct lunar_frame* meta;
  LN_TRY(ln_meta(db, number, &meta));
  const int is_index = meta->bytes[LN_META_COLUMNS] == 0;
  const uint16_t of = ln_get16(meta->bytes + LN_META_TABLE);
  ln_put(meta);
  return is_index ? unlist(db, of, number) : ln_secondary_each(db, number, ln_table_redo_drop);
}

static int put_row(const struct lunar_table* table, struct index* index, struct ln_place place, uint32_t position) {
  struct lunar* db = table->db;
  struct ln_key key;
  db->allocated_count = 0; /* no record names the blocks that this allocates */
  LN_TRY(ln_secondary_row_key(table, index->kind, index->column, place, place.ref, 4 * position + LN_ROW_HEADER, &key));
  return put_entry(db, index, &key, place);
}

static int put_rows(const struct lunar_table* table, struct index* index) {
  struct lunar* db = table->db;
  struct lunar_frame* frame;
  LN_TRY(ln_meta(db, table->number, &frame));
  uint32_t ref = ln_get32(frame->bytes + LN_META_FIRST), next;
  ln_put(frame);
  for (uint32_t steps = 0; ref != LN_NONE; ref = next) {
    LN_TRY(ln_block_header(db, ref, &frame));
    const uint32_t slots = ln_get16(frame->bytes + LN_BLOCK_SLOTS);
    next = ln_get32(frame->bytes + LN_BLOCK_NEXT);
    ln_put(frame);
    if (++steps > db->config->sector_count) return LUNAR_E_CORRUPT;
    for (uint32_t slot = 0; slot < slots; slot++) {
      uint32_t position, end;
      LN_TRY(ln_slot_read(db, ref, slot, &position, &end));
      if (!(position & LN_SLOT_FREE)) LN_TRY(put_row(table, index, (struct ln_place){ref, (uint16_t)slot}, position));
    }
  }
  return 0;
}

/* Makes the index known: writes its metadata page, its name, and its number at position `place` of the table's list. */
static int establish(const struct lunar_table* table, struct index* index, const char* name, uint32_t place) {
  LUNAR_ASSERT(place < LUNAR_INDEXES_MAX);
  struct lunar* db = table->db;
  struct lunar_frame* page;
  char padded[LUNAR_NAME_MAX + 1] = {0};
  memcpy(padded, name, strlen(name));
  LN_TRY(ln_page_fresh(db, db->geometry.meta_at + 2u * index->number, LN_META, &page));
  memcpy(page->bytes + LN_PAGE_KIND + 1, index->numbers + LN_PAGE_KIND + 1, sizeof index->numbers - LN_PAGE_KIND - 1);
  ln_put(page);
  LN_TRY(ln_meta(db, table->number, &page));
  page->bytes[LN_META_RING] |= LN_INDEXED;
  ln_put16(page->bytes + LN_META_INDEXES + 2 * place, index->number + 1u);
  ln_dirty(db, page);
  ln_put(page);
  return ln_name_write(db, index->number, padded);
}

/* Builds the index between two checkpoints, so that it needs no record: after a power cut the volume has the whole
 * index or nothing of it. */
static int make(const struct lunar_table* table, struct index* index, const char* name, uint32_t place) {
  struct lunar* db = table->db;
  LN_TRY(ln_checkpoint(db));
  db->building = LN_BUILDS;
  db->many_pages = 1;
  db->allocated_count = 0;
  int error = ln_index_create(db, &index->meta);
  if (!error) {
    error = put_rows(table, index);
    if (LN_NO_ROOM(error) && db->mode == LUNAR_MODE_NONE) LN_TRY(ln_index_drop(db, &index->meta, 0));
  }
  if (!error) error = establish(table, index, name, place);
  return error ? error : ln_checkpoint(db);
}

static int room_for_another(const struct lunar_table* table, uint32_t indexes) {
  const struct lunar* db = table->db;
  if (indexes == LUNAR_INDEXES_MAX) return LUNAR_E_TABLES;
  const uint32_t more = (INDEX_SECTORS_SPLIT - INDEX_SECTORS) * (indexes + 1) + sectors_for(table, indexes + 1);
  const uint32_t frames_min = 4, operation = ln_operation_sectors(db) + more;
  return 3 + frames_min + 2 * operation <= db->geometry.log_sectors ? 0 : LUNAR_E_TXN_FULL;
}

static void describe(const struct lunar_table* table, struct index* index) {
  struct lunar* db = table->db;
  uint8_t* m = index->numbers;
  m[LN_META_INDEX] = index->kind;
  m[LN_META_KEY] = index->column;
  ln_put32(m + LN_META_FIRST, LN_NONE);
  memset(m + LN_META_LISTS, 0xff, 4 * LN_LISTS);
  ln_put16(m + LN_META_TABLE, table->number);
  ln_put32(m + LN_META_CREATION, db->checkpoints << 16 | db->creations++ | 1u << 31);
}

int ln_secondary_create(struct lunar* db, const char* of, const char* name, uint8_t column, uint8_t kind) {
  uint16_t number, numbers[LUNAR_INDEXES_MAX];
  struct lunar_table table;
  struct index index = {.kind = kind, .column = column};
  if (db->state == LN_IN_TXN) return LUNAR_E_TXN;
  LN_TRY(ln_name_find(db, of, &number));
  LN_TRY(ln_is_table(db, number));
  LN_TRY(ln_table_load(db, number, &table));
  if (column >= table.column_count) return ln_argument(db, LUNAR_E_INVALID, "column");
  if (kind > LUNAR_INDEX_TREE) return ln_argument(db, LUNAR_E_INVALID, "kind");
  if (!kind_known(kind)) return LUNAR_E_UNSUPPORTED;
  int error = ln_name_find(db, name, &number);
  if (!error) return LUNAR_E_EXISTS;
  if (error != LUNAR_E_NO_TABLE) return error;
  const int count = ln_secondary_list(db, table.number, numbers);
  LN_TRY(count);
  LN_TRY(room_for_another(&table, (uint32_t)count));
  LN_TRY(ln_name_free(db, &number));
  index_begin(&index, number);
  describe(&table, &index);
  db->changing = 1;
  error = make(&table, &index, name, (uint32_t)count);
  db->building = 0;
  return error;
}

#if LUNAR_WITH_REPAIR
int ln_secondary_renew(const struct lunar_table* table, enum ln_renewal step) {
  struct lunar* db = table->db;
  uint16_t numbers[LUNAR_INDEXES_MAX];
  int count = ln_secondary_list(db, table->number, numbers);
  LN_TRY(count);
  while (count-- > 0) {
    struct index index;
    LN_TRY(ln_make_room(db, 1));
    LN_TRY(index_read(table, numbers[count], &index));
    if (step == LN_GIVE_UP) ln_index_give_up(db, &index.meta);
    if (step == LN_CREATE_EMPTY) LN_TRY(ln_index_create(db, &index.meta));
    if (step == LN_FILL) LN_TRY(put_rows(table, &index));
    if (step != LN_FILL) ln_put64(index.numbers + LN_META_ROWS, 0);
    LN_TRY(index_write(db, &index));
  }
  return 0;
}
#endif

static int index_list(const struct lunar_table* table, uint8_t* at, struct lunar_index_info* info) {
  uint16_t numbers[LUNAR_INDEXES_MAX];
  struct lunar_frame* meta;
  struct index index;
  LN_TRY(ln_table_meta(table, &meta));
  ln_put(meta);
  const int count = ln_secondary_list(table->db, table->number, numbers);
  LN_TRY(count);
  if (*at >= count) return LUNAR_E_NOT_FOUND;
  LN_TRY(index_read(table, numbers[*at], &index));
  LN_TRY(ln_name_read(table->db, index.number, info->name));
  info->column = index.column;
  info->kind = index.kind;
  ++*at;
  return 0;
}

int lunar_index_list(struct lunar_table* table, uint8_t* at, struct lunar_index_info* info) {
  LUNAR_ASSERT(table && at && info);
  LN_TRY(ln_enter(table->db));
  return ln_leave(table->db, index_list(table, at, info));
}

/* --- cursors --- */

#if LUNAR_WITH_CURSOR

enum { FROM = 1, TO = 2 };

static int cursor_open(struct lunar_cursor* cursor, struct lunar_table* table, const char* name,
                       const struct lunar_value* from, const struct lunar_value* to, int descending) {
  struct lunar_frame* meta;
  struct index index;
  uint16_t number, numbers[LUNAR_INDEXES_MAX];
  LN_TRY(ln_table_meta(table, &meta));
  ln_put(meta);
  LN_TRY(ln_name_find(table->db, name, &number));
  int count = ln_secondary_list(table->db, table->number, numbers);
  LN_TRY(count);
  while (count > 0 && numbers[count - 1] != number) count--;
  if (count == 0) return LUNAR_E_NO_TABLE;
  LN_TRY(index_read(table, number, &index));
  if (from) LN_TRY(ln_argument(table->db, ln_value_check(table->types[index.column], 0, from), "bound"));
  if (to) LN_TRY(ln_argument(table->db, ln_value_check(table->types[index.column], 0, to), "bound"));
  if (index.kind == LUNAR_INDEX_HASH && (!from || from != to)) return LUNAR_E_UNSUPPORTED;
  *cursor = (struct lunar_cursor){.table = table,
                                  .descending = descending != 0,
                                  .bounds = (uint8_t)((from ? FROM : 0) | (to ? TO : 0)),
                                  .index = number,
                                  .index_kind = index.kind,
                                  .column = index.column,
                                  .index_creation = ln_get32(index.numbers + LN_META_CREATION)};
  if (from) cursor->from = *from;
  if (to) cursor->to = *to;
  return 0;
}

int lunar_index_cursor(struct lunar_cursor* cursor, struct lunar_table* table, const char* name,
                       const struct lunar_value* from, const struct lunar_value* to, int descending) {
  LUNAR_ASSERT(cursor && table && name);
  LN_TRY(ln_enter(table->db));
  return ln_leave(table->db, cursor_open(cursor, table, name, from, to, descending));
}

/* Compares two values of a TEXT or BLOB column as a whole. Keys may have only their beginnings. */
static int compare_bytes(const struct lunar_value* a, const struct lunar_value* b) {
  const int null = (a->type != LUNAR_NULL) - (b->type != LUNAR_NULL);
  if (null || a->type == LUNAR_NULL) return null;
  const uint32_t n = a->bytes < b->bytes ? a->bytes : b->bytes;
  const int order = n ? memcmp(a->as.data, b->as.data, n) : 0;
  return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Returns 1 if the row is in the cursor's range, 0 if not. The key alone cannot decide this: it may be cut off, or a
 * hash. */
static int is_wanted(const struct lunar_cursor* c, const struct lunar_value* value) {
  const int of_bytes = is_bytes(c->table->types[c->column]);
  if (!of_bytes)
    return c->index_kind == LUNAR_INDEX_TREE || (value->type == LUNAR_NULL) == (c->from.type == LUNAR_NULL);
  return (!(c->bounds & FROM) || compare_bytes(value, &c->from) >= 0) &&
         (!(c->bounds & TO) || compare_bytes(value, &c->to) <= 0);
}

#if LUNAR_WITH_TREE
static int bound_key(const struct lunar_cursor* c, const struct lunar_value* bound, struct ln_key* key) {
  struct column column;
  column_given(bound, c->table->types[c->column], &column);
  return ordered(c->table, &column, key);
}

/* Sets key to where the search for the next row begins: the key of the last row. A key with a hash also has the row's
 * place. If this key no longer exists, the row has probably moved. Then all entries with its value and hash are
 * skipped, so that the row is not read twice. */
static int go_on(const struct lunar_cursor* c, struct index* index, struct ln_key* key) {
  struct ln_place place;
  key->count = c->key_bytes;
  memcpy(key->bytes, c->key, c->key_bytes);
  if (!is_bytes(c->table->types[c->table->key])) return 0;
  struct lunar_leaf elsewhere = {0};
  struct ln_key here = *key;
  const int error =
      ln_tree_seek(c->table->db, &index->meta, c->descending ? LN_AT_MOST : LN_AT_LEAST, &here, &place, &elsewhere);
  if (error && error != LUNAR_E_NOT_FOUND) return error;
  if (error || !same_key(LUNAR_INDEX_TREE, &here, key))
    memset(key->bytes + key->count - PLACE_BYTES, c->descending ? 0 : 0xff, PLACE_BYTES);
  return 0;
}

static int next_in_tree(struct lunar_cursor* c, struct index* index, struct ln_place* place) {
  const struct lunar_value *begin = c->descending ? &c->to : &c->from, *end = c->descending ? &c->from : &c->to;
  const int begins = c->bounds & (c->descending ? TO : FROM), ends = c->bounds & (c->descending ? FROM : TO);
  enum ln_seek seek = c->descending ? LN_LESS : LN_MORE;
  struct ln_key key = {.count = 0}, last;
  if (c->started) {
    LN_TRY(go_on(c, index, &key));
  } else {
    seek = c->descending ? LN_AT_MOST : LN_AT_LEAST;
    if (begins) LN_TRY(bound_key(c, begin, &key));
    if (c->descending) {
      memset(key.bytes + key.count, 0xff, sizeof key.bytes - key.count);
      key.count = sizeof key.bytes;
    }
  }
  LN_TRY(ln_tree_seek(c->table->db, &index->meta, seek, &key, place, &c->leaf));
  if (ends) {
    LN_TRY(bound_key(c, end, &last));
    const int order = memcmp(key.bytes, last.bytes, key.count < last.count ? key.count : last.count);
    if (c->descending ? order < 0 : order > 0) return LUNAR_E_NOT_FOUND;
  }
  c->started = 1;
  c->key_bytes = key.count;
  memcpy(c->key, key.bytes, key.count);
  return 0;
}
#endif

struct search {
  struct ln_place after, best;
  uint8_t any, found;
};

static int place_order(struct ln_place a, struct ln_place b) {
  if (a.ref == b.ref) return (a.slot > b.slot) - (a.slot < b.slot);
  return a.ref > b.ref ? 1 : -1;
}

static int find_least(void* context, struct ln_place place) {
  struct search* s = context;
  if ((s->any || place_order(place, s->after) > 0) && (!s->found || place_order(place, s->best) < 0)) {
    s->best = place;
    s->found = 1;
  }
  return 0;
}

/* Stores where the rows of the table end now. The cursor skips rows that are inserted behind this. */
static int begin_hash(struct lunar_cursor* c) {
  struct lunar_frame* frame;
  LN_TRY(ln_table_meta(c->table, &frame));
  const uint32_t last = ln_get32(frame->bytes + LN_META_LAST);
  ln_put(frame);
  c->started = 1;
  c->end_serial = 0;
  c->end_slot = 0;
  c->ref = LN_NONE;
  if (last == LN_NONE) return 0;
  LN_TRY(ln_block_header(c->table->db, last, &frame));
  c->end_serial = ln_get32(frame->bytes + LN_BLOCK_SERIAL);
  c->end_slot = ln_get16(frame->bytes + LN_BLOCK_SLOTS);
  ln_put(frame);
  return 0;
}

/* Returns 1 if the row lies behind the end that begin_hash stored, 0 if not, or an error. */
static int is_later(const struct lunar_cursor* c, struct ln_place place) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(c->table->db, place.ref, &frame));
  const uint32_t serial = ln_get32(frame->bytes + LN_BLOCK_SERIAL);
  ln_put(frame);
  return serial > c->end_serial || (serial == c->end_serial && place.slot >= c->end_slot);
}

/* Finds the next row with this hash, in the order of the places. Searches the whole chain at each call. */
static int next_by_hash(struct lunar_cursor* c, struct index* index, struct ln_place* place) {
  struct column column;
  uint64_t hash;
  int later = 1;
  if (!c->started) {
    LN_TRY(begin_hash(c));
    ln_scan_begin(c);
  }
  column_given(&c->from, c->table->types[c->column], &column);
  LN_TRY(hash_of(c->table->db, &column, &hash));
  while (later) {
    struct search search = {.after = {c->ref, c->slot}, .any = c->ref == LN_NONE};
    const int error = ln_hash_find(c->table->db, &index->meta, hash, find_least, &search, place);
    if (error != LUNAR_E_NOT_FOUND) return error;
    if (!search.found) return LUNAR_E_NOT_FOUND;
    c->ref = search.best.ref;
    c->slot = search.best.slot;
    *place = search.best;
    LN_TRY(later = is_later(c, *place));
  }
  return 0;
}

static int next_place(struct lunar_cursor* c, struct index* index, struct ln_place* place) {
#if LUNAR_WITH_TREE
  if (c->index_kind == LUNAR_INDEX_TREE) return next_in_tree(c, index, place);
#endif
  return next_by_hash(c, index, place);
}

int ln_secondary_next(struct lunar_cursor* cursor, void* row, size_t row_bytes, struct lunar_value* values) {
  struct lunar_frame* meta;
  struct index index;
  struct ln_place place = {LN_NONE, 0};
  LN_TRY(ln_meta(cursor->table->db, cursor->index, &meta));
  const uint32_t creation = ln_get32(meta->bytes + LN_META_CREATION);
  ln_put(meta);
  if (creation != cursor->index_creation) return LUNAR_E_NO_TABLE;
  LN_TRY(index_read(cursor->table, cursor->index, &index));
  do {
    struct lunar_cursor moved = *cursor;
    const int found = next_place(&moved, &index, &place);
    if (found == LUNAR_E_NOT_FOUND) cursor->ended = 1;
    LN_TRY(found);
    LN_TRY(ln_row_get(cursor->table, place, row, row_bytes, values));
    *cursor = moved;
  } while (!is_wanted(cursor, &values[cursor->column]));
  return 0;
}

#endif

#endif
