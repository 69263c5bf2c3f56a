/* The root table (names) and each table's two metadata pages. A table's number is its position in both. */
#include "tables.h"

static uint32_t per_page(const struct lunar* db) { return (db->config->sector_bytes - LN_ROOT_HEADER) / LN_ROOT_ENTRY; }

static int root_entry(struct lunar* db, uint16_t number, struct lunar_frame** frame, uint8_t** entry) {
  LUNAR_ASSERT(number < db->geometry.tables_max);
  LN_TRY(ln_page(db, db->geometry.root_at + number / per_page(db), LN_ROOT, frame));
  *entry = (*frame)->bytes + LN_ROOT_HEADER + LN_ROOT_ENTRY * (number % per_page(db));
  return 0;
}

int ln_name_read(struct lunar* db, uint16_t number, char name[LUNAR_NAME_MAX + 1]) {
  struct lunar_frame* frame;
  uint8_t* entry;
  LN_TRY(root_entry(db, number, &frame, &entry));
  memcpy(name, entry, LN_ROOT_ENTRY);
  name[LUNAR_NAME_MAX] = 0;
  ln_put(frame);
  return 0;
}

int ln_name_write(struct lunar* db, uint16_t number, const char name[LUNAR_NAME_MAX + 1]) {
  LUNAR_ASSERT(memchr(name, 0, LUNAR_NAME_MAX + 1));
  struct lunar_frame* frame;
  uint8_t* entry;
  LN_TRY(root_entry(db, number, &frame, &entry));
  memcpy(entry, name, LN_ROOT_ENTRY);
  ln_dirty(db, frame);
  ln_put(frame);
  return 0;
}

int ln_name_is_sound(const char* name) {
  LUNAR_ASSERT(name);
  const void* end = memchr(name, 0, LUNAR_NAME_MAX + 1);
  return name[0] && end;
}

/* Finds the number of the table or index with this name. The empty name finds a free number. Returns 0, E_NO_TABLE, or
 * an error. */
static int number_of(struct lunar* db, const char* name, uint16_t* number) {
  char here[LUNAR_NAME_MAX + 1];
  for (uint16_t i = 0; i < db->geometry.tables_max; i++) {
    LN_TRY(ln_name_read(db, i, here));
    *number = i;
    if (strcmp(here, name) == 0) return 0;
  }
  return LUNAR_E_NO_TABLE;
}

int ln_name_find(struct lunar* db, const char* name, uint16_t* number) {
  if (ln_name_is_sound(name)) return number_of(db, name, number);
  return ln_argument(db, LUNAR_E_INVALID, "name");
}

int ln_name_free(struct lunar* db, uint16_t* number) {
  const int error = number_of(db, "", number);
  return error == LUNAR_E_NO_TABLE ? LUNAR_E_TABLES : error;
}

int ln_meta(struct lunar* db, uint16_t number, struct lunar_frame** meta) {
  if (number >= db->geometry.tables_max) return LUNAR_E_CORRUPT;
  return ln_page(db, ln_meta_sector(db, number), LN_META, meta);
}

int ln_table_meta(const struct lunar_table* table, struct lunar_frame** meta) {
  LUNAR_ASSERT(table->db && meta);
  LN_TRY(ln_meta(table->db, table->number, meta));
  const uint8_t* m = (*meta)->bytes;
  const int same = ln_get32(m + LN_META_CREATION) == table->creation;
  if (same && !(m[LN_META_RING] & LN_MENDED)) return 0;
  ln_put(*meta);
  return same ? LUNAR_E_CORRUPT : LUNAR_E_NO_TABLE;
}

#if LUNAR_WITH_REPAIR
int ln_mark_damaged(struct lunar* db, struct lunar_frame* meta, uint16_t number, int error) {
  /* The table is already marked: redo may have left entries out of its indexes, so any error may follow. */
  const int known = db->redoing && meta->bytes[LN_META_RING] & LN_MENDED;
  if (db->state == LN_BROKEN || !error) return error;
  if (db->redoing & LN_SKIPPING) db->doubtful = 0; /* mount has just read which volume this is */
  /* Its pages are not those that the operation changed, and may need more blocks than the record names. */
  const int unlike = db->redoing && error == LUNAR_E_FULL;
  if (!known && !unlike && error != LUNAR_E_CORRUPT && error != LUNAR_E_IO) return error;
  if (error == LUNAR_E_IO) {
    const int readable = ln_can_be_read(db, db->failed_sector, 1);
    if (readable) return readable < 0 ? readable : error;
  }
  if (db->state == LN_IN_TXN) return error; /* the caller undoes the transaction */
  db->marked = (uint16_t)(number + 1);
  LN_TRY(ln_same_volume(db, NULL));
  meta->bytes[LN_META_RING] |= LN_MENDED;
  ln_dirty(db, meta);
  return 0;
}
#endif

static int type_known(uint8_t type) { return type >= LUNAR_INT8 && type <= LUNAR_BLOB; }

static int index_known(uint8_t index) {
  return index == LUNAR_INDEX_HASH || (LUNAR_WITH_TREE && index == LUNAR_INDEX_TREE);
}

int ln_table_load(struct lunar* db, uint16_t number, struct lunar_table* table) {
  struct lunar_frame* frame;
  LN_TRY(ln_meta(db, number, &frame));
  const uint8_t* m = frame->bytes;
  *table = (struct lunar_table){.db = db,
                                .creation = ln_get32(m + LN_META_CREATION),
                                .number = number,
                                .column_count = m[LN_META_COLUMNS],
                                .key = m[LN_META_KEY],
                                .index = m[LN_META_INDEX],
                                .ring = m[LN_META_RING] & LN_RING_OF,
                                .checksum = (m[LN_META_RING] & LN_SUMMED) != 0};
  const int later = m[LN_META_LATER];
  ln_put(frame);
  if (later) return LUNAR_E_UNSUPPORTED;
  if (!index_known(table->index)) return table->index == LUNAR_INDEX_TREE ? LUNAR_E_UNSUPPORTED : LUNAR_E_CORRUPT;
  if (table->ring && (!LUNAR_WITH_RING || table->ring & LN_INDEXED)) return LUNAR_E_UNSUPPORTED;
  if (table->checksum && !LUNAR_WITH_CHECKSUM) return LUNAR_E_UNSUPPORTED;
  if (table->ring > LUNAR_RING_AGE || table->column_count == 0 || table->column_count > LUNAR_COLUMNS_MAX ||
      table->key >= table->column_count)
    return LUNAR_E_CORRUPT;
  LN_TRY(ln_page(db, ln_meta_sector(db, number) + 1, LN_SCHEMA, &frame));
  int error = 0;
  for (uint32_t i = 0; i < table->column_count; i++) {
    const uint8_t* column = frame->bytes + LN_SCHEMA_COLUMNS + LN_SCHEMA_COLUMN * i;
    table->types[i] = column[LUNAR_NAME_MAX + 1];
    table->flags[i] = column[LUNAR_NAME_MAX + 2];
    if (column[LUNAR_NAME_MAX] || !type_known(table->types[i])) error = LUNAR_E_CORRUPT;
  }
  ln_put(frame);
  return error;
}

_Static_assert(LUNAR_NAME_MAX == 23 && LUNAR_COLUMNS_MAX == 16, "as the reasons say");

static int column_check(const struct lunar_schema* schema, uint32_t i, const char** why) {
  const struct lunar_column* column = &schema->columns[i];
  if (!ln_name_is_sound(column->name)) return ln_refuse(why, "a column's name is empty, or longer than 23 bytes");
  if (!type_known(column->type)) return ln_refuse(why, "a column's type is no enum lunar_type");
  if (column->flags > LUNAR_NOT_NULL) return ln_refuse(why, "a column's flags have an unknown bit");
  for (uint32_t k = 0; k < i; k++)
    if (strcmp(column->name, schema->columns[k].name) == 0) return ln_refuse(why, "two columns have one name");
  return 0;
}

int ln_schema_check(const struct lunar_schema* schema, const char** why) {
  LUNAR_ASSERT(schema);
  if (schema->column_count == 0 || schema->column_count > LUNAR_COLUMNS_MAX)
    return ln_refuse(why, "column_count is not from 1 to 16");
  if (schema->key >= schema->column_count) return ln_refuse(why, "key is the number of no column");
  for (uint32_t i = 0; i < schema->column_count; i++) LN_TRY(column_check(schema, i, why));
  const uint8_t key = schema->columns[schema->key].type;
  if (key == LUNAR_REAL || key == LUNAR_BOOLEAN) return ln_refuse(why, "the key's column is REAL or BOOLEAN");
  if (schema->ring > LUNAR_RING_AGE) return ln_refuse(why, "ring is no enum lunar_ring");
  if (schema->ring && schema->ring_limit == 0) return ln_refuse(why, "ring_limit is 0");
  if (schema->ring == LUNAR_RING_AGE && (key == LUNAR_TEXT || key == LUNAR_BLOB))
    return ln_refuse(why, "the key of a ring by age is no integer");
  if (schema->index > LUNAR_INDEX_TREE) return ln_refuse(why, "index is no enum lunar_index");
  if (schema->checksum > 1) return ln_refuse(why, "checksum is neither 0 nor 1");
  if (!index_known(schema->index)) return LUNAR_E_UNSUPPORTED;
  return (LUNAR_WITH_RING || !schema->ring) && (LUNAR_WITH_CHECKSUM || !schema->checksum) ? 0 : LUNAR_E_UNSUPPORTED;
}

/* The content of a CREATE record: the name, u8 index, u8 key, u8 columns, u8 ring and flags, u64 ring limit, u32
 * creation, then the columns as in the schema page. */
enum { CREATE_HEAD = LN_ROOT_ENTRY + 16 };

void ln_without_blocks(uint8_t* m) {
  ln_put32(m + LN_META_FIRST, LN_NONE);
  ln_put32(m + LN_META_LAST, LN_NONE);
  memset(m + LN_META_LISTS, 0xff, 4 * LN_LISTS);
}

static int create(struct lunar* db, uint16_t number, const uint8_t head[CREATE_HEAD]) {
  LUNAR_ASSERT(number < db->geometry.tables_max);
  struct lunar_frame* meta;
  LN_TRY(ln_page_fresh(db, ln_meta_sector(db, number), LN_META, &meta));
  uint8_t* m = meta->bytes;
  m[LN_META_INDEX] = head[LN_ROOT_ENTRY];
  m[LN_META_KEY] = head[LN_ROOT_ENTRY + 1];
  m[LN_META_COLUMNS] = head[LN_ROOT_ENTRY + 2];
  m[LN_META_RING] = (uint8_t)(head[LN_ROOT_ENTRY + 3] | (LN_IS_STALE(db) ? LN_MENDED : 0));
  memcpy(m + LN_META_RING_LIMIT, head + LN_ROOT_ENTRY + 4, 8);
  ln_put32(m + LN_META_CREATION, ln_get32(head + LN_ROOT_ENTRY + 12));
  ln_without_blocks(m);
  const int error = ln_index_create(db, meta);
  ln_put(meta);
  return error ? error : ln_name_write(db, number, (const char*)head);
}

struct creation {
  LN_FIELDS(head, CREATE_HEAD);
  const uint8_t* columns;
  uint32_t bytes;
};

static int emit_creation(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes)) {
  const struct creation* c = context;
  LN_TRY(put(sink, c->head, sizeof c->head));
  return put(sink, c->columns, c->bytes);
}

int ln_table_create(struct lunar* db, const char* name, const struct lunar_schema* schema) {
  struct lunar_frame* frame;
  uint16_t number;
  const char* why = "";
  LN_TRY(ln_argument(db, ln_schema_check(schema, &why), "schema"));
  const int found = ln_name_find(db, name, &number);
  if (!found) return LUNAR_E_EXISTS;
  if (found != LUNAR_E_NO_TABLE) return found;
  LN_TRY(ln_name_free(db, &number));
  LN_TRY(ln_make_room(db, 1));
  struct creation creation = {.bytes = (uint32_t)LN_SCHEMA_COLUMN * schema->column_count};
  memcpy(creation.head, name, strlen(name));
  creation.head[LN_ROOT_ENTRY] = schema->index;
  creation.head[LN_ROOT_ENTRY + 1] = schema->key;
  creation.head[LN_ROOT_ENTRY + 2] = schema->column_count;
  creation.head[LN_ROOT_ENTRY + 3] = (uint8_t)(schema->ring | (schema->checksum ? LN_SUMMED : 0));
  ln_put64(creation.head + LN_ROOT_ENTRY + 4, schema->ring_limit);
  ln_put32(creation.head + LN_ROOT_ENTRY + 12, db->checkpoints << 16 | db->creations++ | 1u << 31);
  db->changing = 1;
  LN_TRY(create(db, number, creation.head));
  LN_TRY(ln_page_fresh(db, ln_meta_sector(db, number) + 1, LN_SCHEMA, &frame));
  uint8_t* columns = frame->bytes + LN_SCHEMA_COLUMNS;
  for (uint32_t i = 0; i < schema->column_count; i++) {
    uint8_t* column = columns + LN_SCHEMA_COLUMN * i;
    memcpy(column, schema->columns[i].name, strlen(schema->columns[i].name));
    column[LUNAR_NAME_MAX + 1] = schema->columns[i].type;
    column[LUNAR_NAME_MAX + 2] = schema->columns[i].flags;
  }
  creation.columns = columns;
  const struct ln_record_header record = {.type = LN_CREATE, .table = number, .bytes = CREATE_HEAD + creation.bytes};
  const int error = ln_log(db, &record, emit_creation, &creation);
  ln_put(frame);
  return error;
}

int ln_table_redo_create(struct lunar* db, uint16_t number, struct ln_content content, uint32_t bytes) {
  LN_FIELDS(head, CREATE_HEAD);
  struct lunar_frame* frame;
  if (number >= db->geometry.tables_max || bytes < sizeof head ||
      bytes - sizeof head > LUNAR_COLUMNS_MAX * LN_SCHEMA_COLUMN)
    return LUNAR_E_CORRUPT;
  LN_TRY(ln_read_bytes(db, content.sector, content.offset, head, sizeof head));
  LN_TRY(create(db, number, head));
  LN_TRY(ln_page_fresh(db, ln_meta_sector(db, number) + 1, LN_SCHEMA, &frame));
  const int error = ln_read_bytes(db, content.sector, content.offset + (uint32_t)sizeof head,
                                  frame->bytes + LN_SCHEMA_COLUMNS, bytes - (uint32_t)sizeof head);
  ln_dirty(db, frame); /* ln_read_bytes may have spilled the page while it was still empty */
  ln_put(frame);
  return error;
}

static int drop_blocks(struct lunar* db, uint32_t ref) {
  for (uint32_t steps = 0; ref != LN_NONE; steps++) {
    struct lunar_frame* frame;
    if (steps > db->config->sector_count) return LUNAR_E_CORRUPT;
    LN_TRY(ln_page(db, ref, LN_BLOCK, &frame));
    const uint32_t next = ln_get32(frame->bytes + LN_BLOCK_NEXT);
    ln_put(frame);
    LN_TRY(ln_free(db, ref));
    ref = next;
  }
  return 0;
}

#if LUNAR_WITH_TRUNCATE
/* Removes all entries of an index. The index keeps one page and allocates none, so that a table can be truncated on a
 * full device. */
static int clear_index(struct lunar* db, uint16_t number) {
  struct lunar_frame* meta;
  LN_TRY(ln_meta(db, number, &meta));
  ln_put64(meta->bytes + LN_META_ROWS, 0);
  const int error = ln_index_drop(db, meta, 1);
  ln_put(meta);
  return error;
}

int ln_table_redo_truncate(struct lunar* db, uint16_t number) {
  struct lunar_frame* meta;
  db->many_pages = 1;
  ln_cache_forget_all(db);
  LN_TRY(ln_secondary_each(db, number, clear_index));
  LN_TRY(clear_index(db, number));
  LN_TRY(ln_meta(db, number, &meta));
  uint8_t* m = meta->bytes;
  const uint32_t first = ln_get32(m + LN_META_FIRST);
  ln_without_blocks(m);
  ln_put32(m + LN_META_SECTORS, 0);
  ln_put64(m + LN_META_DEAD, 0);
  ln_dirty(db, meta);
  db->releases++;
  ln_put(meta);
  return drop_blocks(db, first);
}
#endif

int ln_table_redo_drop(struct lunar* db, uint16_t number) {
  static const char none[LUNAR_NAME_MAX + 1];
  struct lunar_frame* meta;
  db->many_pages = 1;
  ln_cache_forget_all(db);
  LN_TRY(ln_secondary_drop(db, number));
  LN_TRY(ln_meta(db, number, &meta));
  const uint32_t first = ln_get32(meta->bytes + LN_META_FIRST);
  const int follows = LUNAR_WITH_REPAIR || !(meta->bytes[LN_META_RING] & LN_MENDED);
  const int error = follows ? ln_index_drop(db, meta, 0) : LUNAR_E_CORRUPT;
  ln_put32(meta->bytes + LN_META_CREATION, 0);
  ln_dirty(db, meta);
  db->releases++;
  ln_put(meta);
  LN_TRY(error);
  LN_TRY(drop_blocks(db, first));
  return ln_name_write(db, number, none);
}
