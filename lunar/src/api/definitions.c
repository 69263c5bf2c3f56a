/* The public calls on tables as a whole: create, drop, truncate, open, list, schema. */
#include "api.h"

static int remove_all_once(struct lunar* db, enum ln_record type, uint16_t number,
                           int (*empties)(struct lunar* db, uint16_t number)) {
  LUNAR_ASSERT(number < db->geometry.tables_max);
  const struct ln_record_header record = {.type = type, .table = number};
  LN_TRY(ln_make_room(db, 1));
  db->changing = 1;
  LN_TRY(empties(db, number));
  LN_TRY(ln_has_room(db, 0));
  LN_TRY(ln_log(db, &record, NULL, NULL));
  ln_extents_follow(db, &db->series, &record);
  return 0;
}

static int remove_all_retried(struct lunar* db, enum ln_record type, uint16_t number,
                              int (*empties)(struct lunar* db, uint16_t number)) {
  struct ln_attempts attempts = {.freed = 0};
  int error;
  do error = remove_all_once(db, type, number, empties);
  while (ln_retry(db, &error, &attempts));
  return error;
}

#if LUNAR_WITH_REPAIR
/* Empties a table that waits for its repair. Returns E_CORRUPT for an index of a table that waits for its repair: the
 * index cannot be dropped alone. */
static int empty_if_damaged(struct lunar* db, uint16_t number) {
  struct lunar_frame* meta;
  LN_TRY(ln_meta(db, number, &meta));
  const uint8_t* m = meta->bytes;
  const int is_table = m[LN_META_COLUMNS];
  const uint16_t table = is_table ? number : ln_get16(m + LN_META_TABLE);
  ln_put(meta);
  LN_TRY(ln_meta(db, table, &meta));
  const int damaged = meta->bytes[LN_META_RING] & LN_MENDED && ln_get32(meta->bytes + LN_META_CREATION);
  ln_put(meta);
  if (!damaged) return 0;
  return is_table ? ln_empty(db, number) : LUNAR_E_CORRUPT;
}

/* Drops a table or an index (LN_DROP), or truncates a table (LN_TRUNCATE). If damage to the chain of blocks or to the
 * indexes prevents it, empties the table and tries again. An index is not emptied. */
static int remove_all(struct lunar* db, enum ln_record type, uint16_t number,
                      int (*empties)(struct lunar* db, uint16_t number)) {
  LN_TRY(empty_if_damaged(db, number));
  const int error = remove_all_retried(db, type, number, empties);
  if (db->state != LN_READY || !ln_is_damage(db, error) || ln_is_table(db, number)) return error;
  LN_TRY(ln_empty(db, number));
  return remove_all_retried(db, type, number, empties);
}
#else
#define remove_all remove_all_retried
#endif

int ln_drop(struct lunar* db, uint16_t number) { return remove_all(db, LN_DROP, number, ln_table_redo_drop); }

static int table_of(struct lunar* db, const char* name, uint16_t* number) {
  LN_TRY(ln_name_find(db, name, number));
  return ln_is_table(db, *number);
}

int lunar_table_create(struct lunar* db, const char* name, const struct lunar_schema* schema) {
  LUNAR_ASSERT(name && schema);
  LN_TRY(ln_enter(db));
  struct ln_attempts attempts = {.freed = db->freed};
  int error;
  do error = ln_table_create(db, name, schema);
  while (ln_retry(db, &error, &attempts));
  return ln_finish_change(db, error);
}

#if LUNAR_WITH_TEXTS
const char* lunar_schema_fault(const struct lunar_schema* schema) {
  const char* why = "";
  (void)(ln_schema_check(schema, &why) == 0);
  return why;
}
#endif

static int table_drop(struct lunar* db, const char* name) {
  uint16_t number;
  LN_TRY(table_of(db, name, &number));
  return ln_drop(db, number);
}

int lunar_table_drop(struct lunar* db, const char* name) {
  LUNAR_ASSERT(name);
  LN_TRY(ln_enter(db));
  return ln_finish_change(db, table_drop(db, name));
}

#if LUNAR_WITH_TRUNCATE
int ln_truncate(struct lunar* db, uint16_t number) {
  return remove_all(db, LN_TRUNCATE, number, ln_table_redo_truncate);
}

static int truncate(const struct lunar_table* table) {
  struct lunar* db = table->db;
  struct lunar_frame* meta;
  const int error = ln_table_meta(table, &meta);
  if (!error) ln_put(meta);
  if (error && !(LUNAR_WITH_REPAIR && error == LUNAR_E_CORRUPT)) return error;
  return ln_truncate(db, table->number);
}

int lunar_truncate(struct lunar_table* table) {
  LUNAR_ASSERT(table);
  LN_TRY(ln_enter(table->db));
  return ln_finish_change(table->db, truncate(table));
}
#endif

static int table_open(struct lunar* db, const char* name, struct lunar_table* table) {
  uint16_t number;
  LN_TRY(table_of(db, name, &number));
  LN_TRY(ln_table_load(db, number, table));
#if LUNAR_WITH_REPAIR
  /* A recovery that met damage, or a repair that was cut off, has marked the table. */
  struct lunar_frame* meta;
  LN_TRY(ln_meta(db, number, &meta));
  const int damaged = table->ring && meta->bytes[LN_META_RING] & LN_MENDED && db->state == LN_READY;
  ln_put(meta);
  if (damaged) {
    LN_TRY(ln_repair_ring(db, number));
    return ln_undo_change(db, ln_ring_trim(table));
  }
#endif
  return 0;
}

int lunar_table_open(struct lunar* db, const char* name, struct lunar_table* table) {
  LUNAR_ASSERT(name && table);
  LN_TRY(ln_enter(db));
  return ln_leave(db, table_open(db, name, table));
}

static int table_list(struct lunar* db, uint16_t* number, char name[LUNAR_NAME_MAX + 1]) {
  while (*number < db->geometry.tables_max) {
    LN_TRY(ln_name_read(db, (*number)++, name));
    const int error = name[0] ? ln_is_table(db, (uint16_t)(*number - 1)) : LUNAR_E_NO_TABLE;
    if (error != LUNAR_E_NO_TABLE) return error;
  }
  return LUNAR_E_NO_TABLE;
}

int lunar_table_list(struct lunar* db, uint16_t* number, char name[LUNAR_NAME_MAX + 1]) {
  LUNAR_ASSERT(number && name);
  LN_TRY(ln_enter(db));
  return ln_leave(db, table_list(db, number, name));
}

static int table_schema(const struct lunar_table* table, struct lunar_schema* schema) {
  struct lunar* db = table->db;
  struct lunar_frame* frame;
  *schema = (struct lunar_schema){
      .column_count = table->column_count,
      .key = table->key,
      .index = table->index,
      .ring = table->ring,
      .checksum = table->checksum,
  };
  LN_TRY(ln_table_meta(table, &frame));
  schema->ring_limit = ln_get64(frame->bytes + LN_META_RING_LIMIT);
  ln_put(frame);
  LN_TRY(ln_page(db, ln_meta_sector(db, table->number) + 1, LN_SCHEMA, &frame));
  memcpy(schema->columns, frame->bytes + LN_SCHEMA_COLUMNS, (size_t)LN_SCHEMA_COLUMN * table->column_count);
  ln_put(frame);
  return 0;
}

int lunar_table_schema(struct lunar_table* table, struct lunar_schema* schema) {
  LUNAR_ASSERT(table && schema);
  LN_TRY(ln_enter(table->db));
  return ln_leave(table->db, table_schema(table, schema));
}
