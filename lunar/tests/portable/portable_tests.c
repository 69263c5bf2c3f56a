/* Each test formats the first sectors of the device and returns 0, or the line of the failed check. */
#include "portable_tests.h"

#include <string.h>

#include "lines.h"
#include "modules.h" /* the modules of this build */

#define CHECK(condition)               \
  do {                                 \
    if (!(condition)) return __LINE__; \
  } while (0)
#define CODE(expected, call) CHECK((last_code = (call)) == (expected))
#define WORKS(call) CODE(LUNAR_OK, call)

enum { ROW_BYTES_MAX = 8400, SMALL_SECTORS = 256, LONG_LOG_SECTORS = 512 };

static struct lunar_config config;
static struct lunar db;
static struct lunar_table table;
static struct lunar_value values[LUNAR_COLUMNS_MAX];
static int last_code;
static uint8_t content[ROW_BYTES_MAX], row[ROW_BYTES_MAX];

/* --- values and rows --- */

static struct lunar_value integer(int64_t number) {
  return (struct lunar_value){.type = LUNAR_INT64, .as.integer = number};
}

static struct lunar_value boolean(int truth) {
  return (struct lunar_value){.type = LUNAR_BOOLEAN, .as.integer = truth};
}

static struct lunar_value real(double number) { return (struct lunar_value){.type = LUNAR_REAL, .as.real = number}; }

static struct lunar_value nothing(void) { return (struct lunar_value){.type = LUNAR_NULL}; }

static struct lunar_value text(const char* characters) {
  return (struct lunar_value){.type = LUNAR_TEXT, .bytes = (uint32_t)strlen(characters), .as.data = characters};
}

static struct lunar_value blob(const void* data, uint32_t bytes) {
  return (struct lunar_value){.type = LUNAR_BLOB, .bytes = bytes, .as.data = data};
}

static int is_bytes(const struct lunar_value* value, const void* data, uint32_t bytes) {
  return value->bytes == bytes && (bytes == 0 || memcmp(value->as.data, data, bytes) == 0);
}

static int is_text(const struct lunar_value* value, const char* characters) {
  return value->type == LUNAR_TEXT && is_bytes(value, characters, (uint32_t)strlen(characters));
}

/* Content that is unique to the key and version. */
static const uint8_t* content_of(int64_t key, uint32_t version, uint32_t bytes) {
  uint32_t state = (uint32_t)key * 2654435761u ^ (version + 1) * 0x9e3779b9u;
  for (uint32_t i = 0; i < bytes; i++) {
    state = state * 1664525u + 1013904223u;
    content[i] = (uint8_t)(state >> 24);
  }
  return content;
}

static void add_column(struct lunar_schema* schema, const char* name, enum lunar_type type, uint8_t flags) {
  struct lunar_column* column = &schema->columns[schema->column_count++];
  memcpy(column->name, name, strlen(name) + 1);
  column->type = (uint8_t)type, column->flags = flags;
}

/* Most tests use this table: key INT64, number INT32, content BLOB. */
static struct lunar_schema plain_schema(void) {
  struct lunar_schema schema = {.key = 0};
  add_column(&schema, "key", LUNAR_INT64, 0);
  add_column(&schema, "number", LUNAR_INT32, 0);
  add_column(&schema, "content", LUNAR_BLOB, 0);
  return schema;
}

static int insert(int64_t key, uint32_t version, uint32_t bytes) {
  const struct lunar_value new_row[] = {integer(key), integer((int64_t)version),
                                        blob(content_of(key, version, bytes), bytes)};
  return lunar_insert(&table, new_row);
}

static int get(int64_t key) {
  const struct lunar_value k = integer(key);
  return lunar_get(&table, &k, row, sizeof row, values);
}

static int update_number(int64_t key, int64_t number) {
  const struct lunar_value k = integer(key), value = integer(number);
  return lunar_update(&table, &k, 1, &value);
}

static int update_content(int64_t key, uint32_t version, uint32_t bytes) {
  const struct lunar_value k = integer(key), value = blob(content_of(key, version, bytes), bytes);
  return lunar_update(&table, &k, 2, &value);
}

static int remove_key(int64_t key) {
  const struct lunar_value k = integer(key);
  return lunar_remove(&table, &k);
}

static int has(int64_t key, uint32_t version, uint32_t bytes) {
  return get(key) == 0 && values[0].as.integer == key && values[1].as.integer == (int64_t)version &&
         values[2].type == LUNAR_BLOB && is_bytes(&values[2], content_of(key, version, bytes), bytes);
}

static int has_rows(uint64_t expected) {
  uint64_t rows;
  return lunar_count(&table, &rows) == 0 && rows == expected;
}

/* --- volumes --- */

static int mount(void) {
  memset(&db, 0xa5, sizeof db);
  return lunar_mount(&db, &config);
}

/* Clears the state that a power cut loses beside handle and buffer. */
static void forget_mounted(void) {
  if (config.mounted) *config.mounted = NULL;
}

/* Loses handle and buffer, then mounts. */
static int power_cut(void) {
  forget_mounted();
  memset(config.buffer, 0x5a, config.buffer_bytes);
  memset(&table, 0x5a, sizeof table);
  return mount();
}

static int open_plain(void) { return lunar_table_open(&db, "plain", &table); }

static int fresh(enum lunar_mode mode) {
  config.mode = mode;
  forget_mounted();
  const int error = lunar_format(&config);
  return error ? error : mount();
}

static int fresh_plain(enum lunar_mode mode) {
  const struct lunar_schema schema = plain_schema();
  int error = fresh(mode);
  if (!error) error = lunar_table_create(&db, "plain", &schema);
  return error ? error : open_plain();
}

/* --- tests: life of a volume and its tables --- */

static int formats_and_mounts_an_empty_volume(void) {
  uint16_t number = 0;
  char name[LUNAR_NAME_MAX + 1];
  WORKS(fresh(LUNAR_MODE_FULL));
  CODE(LUNAR_E_NO_TABLE, lunar_table_list(&db, &number, name));
  WORKS(lunar_unmount(&db));
  WORKS(mount());
  WORKS(lunar_unmount(&db));
  return 0;
}

static int creates_lists_and_drops_tables(void) {
  static const char* const names[] = {"plain", "a name of 23 characters", "third"};
  const struct lunar_schema schema = plain_schema();
  uint16_t number = 0;
  char name[LUNAR_NAME_MAX + 1];
  WORKS(fresh(LUNAR_MODE_FULL));
  for (int i = 0; i < 3; i++) WORKS(lunar_table_create(&db, names[i], &schema));
  WORKS(lunar_table_drop(&db, "third"));
  WORKS(lunar_unmount(&db));
  WORKS(mount());
  for (int i = 0; i < 2; i++) {
    WORKS(lunar_table_list(&db, &number, name));
    CHECK(strcmp(name, names[i]) == 0);
  }
  CODE(LUNAR_E_NO_TABLE, lunar_table_list(&db, &number, name));
  WORKS(open_plain());
  WORKS(insert(1, 1, 10));
  WORKS(lunar_table_drop(&db, "plain"));
  CODE(LUNAR_E_NO_TABLE, open_plain());
  WORKS(lunar_table_create(&db, "plain", &schema));
  WORKS(open_plain());
  CHECK(has_rows(0));
  return 0;
}

static int tells_a_tables_schema(void) {
  struct lunar_schema schema;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  WORKS(lunar_table_schema(&table, &schema));
  CHECK(schema.column_count == 3 && schema.key == 0 && schema.index == LUNAR_INDEX_HASH &&
        schema.ring == LUNAR_RING_NONE);
  CHECK(strcmp(schema.columns[2].name, "content") == 0 && schema.columns[2].type == LUNAR_BLOB);
  return 0;
}

static int keeps_rows_over_unmount_and_mount(void) {
  WORKS(fresh_plain(LUNAR_MODE_DEFAULT));
  for (int64_t key = 0; key < 60; key++) WORKS(insert(key, 1, (uint32_t)key * 20));
  for (int64_t key = 0; key < 60; key += 3) WORKS(remove_key(key));
  WORKS(lunar_unmount(&db));
  WORKS(mount());
  WORKS(open_plain());
  CHECK(has_rows(40));
  for (int64_t key = 0; key < 60; key++)
    CHECK(key % 3 ? has(key, 1, (uint32_t)key * 20) : get(key) == LUNAR_E_NOT_FOUND);
  return 0;
}

static int keeps_rows_of_several_tables_apart(void) {
  const struct lunar_schema schema = plain_schema();
  struct lunar_table other;
  WORKS(fresh_plain(LUNAR_MODE_DEFAULT));
  WORKS(lunar_table_create(&db, "other", &schema));
  WORKS(lunar_table_open(&db, "other", &other));
  const struct lunar_table first = table;
  for (int64_t key = 0; key < 50; key++) {
    table = first;
    WORKS(insert(key, 1, key % 2 ? 40 : 600));
    table = other;
    WORKS(insert(key, 2, key % 2 ? 600 : 40));
  }
  WORKS(lunar_table_drop(&db, "plain"));
  CHECK(has_rows(50));
  for (int64_t key = 0; key < 50; key++) CHECK(has(key, 2, key % 2 ? 600 : 40));
  return 0;
}

/* --- tests: rows --- */

static struct lunar_schema schema_of_every_type(void) {
  struct lunar_schema schema = {.key = 2};
  add_column(&schema, "int8", LUNAR_INT8, 0);
  add_column(&schema, "int16", LUNAR_INT16, 0);
  add_column(&schema, "int32", LUNAR_INT32, 0);
  add_column(&schema, "int64", LUNAR_INT64, 0);
  add_column(&schema, "real", LUNAR_REAL, 0);
  add_column(&schema, "boolean", LUNAR_BOOLEAN, 0);
  add_column(&schema, "text", LUNAR_TEXT, 0);
  add_column(&schema, "blob", LUNAR_BLOB, LUNAR_NOT_NULL);
  return schema;
}

static int fresh_table_of_every_type(void) {
  const struct lunar_schema schema = schema_of_every_type();
  int error = fresh(LUNAR_MODE_FULL);
  if (!error) error = lunar_table_create(&db, "types", &schema);
  return error ? error : lunar_table_open(&db, "types", &table);
}

static int inserts_and_gets_every_type(void) {
  const struct lunar_value rows[3][8] = {
      {integer(INT8_MIN), integer(INT16_MIN), integer(INT32_MIN), integer(INT64_MIN), real(-1.5e300), boolean(0),
       text(""), blob("\0\1\2", 3)},
      {integer(INT8_MAX), integer(INT16_MAX), integer(INT32_MAX), integer(INT64_MAX), real(0.1), boolean(1),
       text("Gr\xc3\xbc\xc3\x9f"
            "e"),
       blob("", 0)},
      {nothing(), nothing(), integer(0), nothing(), nothing(), nothing(), nothing(), blob("x", 1)}};
  WORKS(fresh_table_of_every_type());
  for (int i = 0; i < 3; i++) WORKS(lunar_insert(&table, rows[i]));
  for (int i = 0; i < 3; i++) {
    WORKS(lunar_get(&table, &rows[i][2], row, sizeof row, values));
    for (int c = 0; c < 8; c++) {
      CHECK(values[c].type == rows[i][c].type);
      if (values[c].type == LUNAR_INT64 || values[c].type == LUNAR_BOOLEAN)
        CHECK(values[c].as.integer == rows[i][c].as.integer);
      if (values[c].type == LUNAR_REAL) CHECK(memcmp(&values[c].as.real, &rows[i][c].as.real, sizeof(double)) == 0);
      if (values[c].type == LUNAR_TEXT || values[c].type == LUNAR_BLOB)
        CHECK(is_bytes(&values[c], rows[i][c].as.data, rows[i][c].bytes));
    }
  }
  return 0;
}

static int updates_every_type_and_to_null_and_back(void) {
  const struct lunar_value first[8] = {integer(1), integer(2), integer(3),  integer(4),
                                       real(5.0),  boolean(1), text("six"), blob("seven", 5)};
  const struct lunar_value second[8] = {integer(-1), integer(-2),           integer(3),      integer(-4), real(-5.0),
                                        boolean(0),  text("a longer text"), blob("short", 5)};
  const struct lunar_value null = nothing();
  WORKS(fresh_table_of_every_type());
  WORKS(lunar_insert(&table, first));
  for (uint8_t c = 0; c < 8; c++) {
    if (c == 2) continue;
    if (c != 7) WORKS(lunar_update(&table, &first[2], c, &null));
    WORKS(lunar_update(&table, &first[2], c, &second[c]));
  }
  WORKS(power_cut());
  WORKS(lunar_table_open(&db, "types", &table));
  WORKS(lunar_get(&table, &first[2], row, sizeof row, values));
  for (int c = 0; c < 4; c++) CHECK(values[c].type == LUNAR_INT64 && values[c].as.integer == second[c].as.integer);
  CHECK(values[4].type == LUNAR_REAL && values[4].as.real < -4.9 && values[4].as.real > -5.1);
  CHECK(values[5].type == LUNAR_BOOLEAN && values[5].as.integer == 0);
  CHECK(is_text(&values[6], "a longer text") && is_bytes(&values[7], "short", 5));
  return 0;
}

static int finds_rows_by_text_and_blob_keys(void) {
  static const char* const keys[] = {"", "a", "b", "ab", "sensor/1/temperature", "sensor/2/temperature"};
  for (int type = LUNAR_TEXT; type <= LUNAR_BLOB; type++) {
    struct lunar_schema schema = {.key = 1};
    struct lunar_value new_row[2];
    add_column(&schema, "number", LUNAR_INT8, 0);
    add_column(&schema, "key", (enum lunar_type)type, 0);
    WORKS(fresh(LUNAR_MODE_FULL));
    WORKS(lunar_table_create(&db, "keys", &schema));
    WORKS(lunar_table_open(&db, "keys", &table));
    for (int i = 0; i < 6; i++) {
      new_row[0] = integer(i), new_row[1] = text(keys[i]), new_row[1].type = (uint8_t)type;
      WORKS(lunar_insert(&table, new_row));
      CODE(LUNAR_E_EXISTS, lunar_insert(&table, new_row));
    }
    for (int i = 0; i < 6; i++) {
      new_row[1] = text(keys[i]), new_row[1].type = (uint8_t)type;
      WORKS(lunar_get(&table, &new_row[1], row, sizeof row, values));
      CHECK(values[0].as.integer == i && is_bytes(&values[1], keys[i], (uint32_t)strlen(keys[i])));
    }
  }
  return 0;
}

static int stores_rows_from_empty_to_several_kilobytes(void) {
  static const uint32_t sizes[] = {0, 1, 100, 380, 400, 500, 512, 1000, 1024, 2000, 4000, 4096, 6000, 8000};
  enum { COUNT = sizeof sizes / sizeof sizes[0] };
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  for (int i = 0; i < COUNT; i++) WORKS(insert(i, 7, sizes[i]));
  for (int i = 0; i < COUNT; i++) CHECK(has(i, 7, sizes[i]));
  WORKS(power_cut());
  WORKS(open_plain());
  for (int i = 0; i < COUNT; i++) CHECK(has(i, 7, sizes[i]));
  return 0;
}

static int updates_that_change_a_rows_length_keep_the_others(void) {
  static const uint32_t sizes[] = {10, 700, 50, 2500, 0, 390, 4000, 20};
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  for (int64_t key = 0; key < 8; key++) WORKS(insert(key, 0, 100));
  for (uint32_t i = 0; i < 8; i++) {
    WORKS(update_number(3, i));
    WORKS(update_content(3, i, sizes[i]));
    CHECK(has(3, i, sizes[i]));
    for (int64_t key = 0; key < 8; key++) CHECK(key == 3 || has(key, 0, 100));
  }
  CHECK(has_rows(8));
  return 0;
}

static int removes_rows_and_takes_their_keys_again(void) {
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  for (uint32_t round = 0; round < 20; round++) {
    for (int64_t key = 0; key < 5; key++) WORKS(insert(key, round, 300 + 50 * round));
    CHECK(has_rows(5));
    for (int64_t key = 4; key >= 0; key--) {
      CHECK(has(key, round, 300 + 50 * round));
      WORKS(remove_key(key));
      CODE(LUNAR_E_NOT_FOUND, remove_key(key));
    }
    CHECK(has_rows(0));
  }
  return 0;
}

static int finds_each_of_many_small_rows(void) {
  enum { ROWS = 1200 };
  WORKS(fresh_plain(LUNAR_MODE_DEFAULT));
  for (int64_t i = 0; i < ROWS; i++) WORKS(insert(i * 7919 - 1000, 1, 20));
  CHECK(has_rows(ROWS));
  for (int64_t i = 0; i < ROWS; i++) CHECK(has(i * 7919 - 1000, 1, 20));
  CODE(LUNAR_E_NOT_FOUND, get(1));
  return 0;
}

/* --- tests: transactions --- */

static int keeps_a_committed_transaction(void) {
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  WORKS(insert(1, 1, 100));
  WORKS(lunar_begin(&db));
  WORKS(insert(2, 1, 900));
  WORKS(update_content(1, 2, 1200));
  WORKS(update_number(1, 2));
  WORKS(insert(3, 1, 10));
  WORKS(remove_key(3));
  WORKS(lunar_commit(&db));
  WORKS(power_cut());
  WORKS(open_plain());
  CHECK(has_rows(2) && has(1, 2, 1200) && has(2, 1, 900));
  return 0;
}

static int undoes_a_transaction_that_is_rolled_back(void) {
  const struct lunar_schema schema = plain_schema();
  config.log_bytes = LONG_LOG_SECTORS * config.sector_bytes;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  for (int64_t key = 0; key < 20; key++) WORKS(insert(key, 1, 30 * (uint32_t)key));
  WORKS(lunar_begin(&db));
  WORKS(lunar_table_create(&db, "other", &schema));
  for (int64_t key = 0; key < 20; key += 2) WORKS(remove_key(key));
  for (int64_t key = 1; key < 20; key += 2) WORKS(update_content(key, 2, 500));
  for (int64_t key = 20; key < 40; key++) WORKS(insert(key, 1, 300));
  WORKS(lunar_rollback(&db));
  CODE(LUNAR_E_NO_TABLE, lunar_table_drop(&db, "other"));
  CHECK(has_rows(20));
  for (int64_t key = 0; key < 20; key++) CHECK(has(key, 1, 30 * (uint32_t)key));
  CODE(LUNAR_E_NOT_FOUND, get(20));
  WORKS(insert(20, 3, 100));
  CHECK(has(20, 3, 100));
  return 0;
}

static int rolls_back_a_transaction_larger_than_half_the_log(void) {
  int64_t key = 1;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  WORKS(insert(0, 1, 100));
  WORKS(lunar_begin(&db));
  do last_code = insert(key, 1, 50);
  while (last_code == 0 && ++key < 20000);
  CHECK(last_code == LUNAR_E_TXN_FULL);
  CODE(LUNAR_E_TXN, lunar_commit(&db));
  CHECK(has_rows(1) && has(0, 1, 100));
  CODE(LUNAR_E_NOT_FOUND, get(1));
  return 0;
}

/* --- tests: power cuts --- */

static int keeps_every_acknowledged_operation_over_power_cuts(void) {
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  for (int64_t key = 0; key < 40; key++) {
    WORKS(insert(key, 1, 25 * (uint32_t)key));
    if (key >= 3) WORKS(update_number(key - 3, 2));
    if (key >= 6) WORKS(remove_key(key - 6));
    if (key % 4) continue;
    WORKS(power_cut());
    WORKS(open_plain());
  }
  CHECK(has_rows(6));
  for (int64_t key = 34; key < 40; key++) {
    WORKS(get(key));
    const uint32_t bytes = 25 * (uint32_t)key;
    CHECK(values[1].as.integer == (key < 37 ? 2 : 1) && is_bytes(&values[2], content_of(key, 1, bytes), bytes));
  }
  return 0;
}

static int forgets_an_open_transaction_at_a_power_cut(void) {
  config.log_bytes = LONG_LOG_SECTORS * config.sector_bytes;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  for (int64_t key = 0; key < 10; key++) WORKS(insert(key, 1, 200));
  WORKS(lunar_begin(&db));
  for (int64_t key = 0; key < 10; key++) WORKS(update_content(key, 2, 200));
  for (int64_t key = 10; key < 20; key++) WORKS(insert(key, 1, 700));
  WORKS(power_cut());
  WORKS(open_plain());
  CHECK(has_rows(10));
  for (int64_t key = 0; key < 10; key++) CHECK(has(key, 1, 200));
  CODE(LUNAR_E_TXN, lunar_commit(&db));
  return 0;
}

static int keeps_what_was_synced_in_every_mode(void) {
  for (int mode = LUNAR_MODE_DISORDER; mode <= LUNAR_MODE_FULL; mode++) {
    WORKS(fresh_plain((enum lunar_mode)mode));
    for (int64_t key = 0; key < 30; key++) WORKS(insert(key, 1, 35 * (uint32_t)key));
    for (int64_t key = 0; key < 30; key += 5) WORKS(update_content(key, 2, 60));
    WORKS(lunar_sync(&db));
    for (int64_t key = 100; key < 103; key++) WORKS(insert(key, 1, 50));
    WORKS(power_cut());
    WORKS(open_plain());
    for (int64_t key = 0; key < 30; key++) {
      WORKS(get(key));
      const uint32_t version = key % 5 ? 1 : 2, bytes = key % 5 ? 35 * (uint32_t)key : 60;
      CHECK(is_bytes(&values[2], content_of(key, version, bytes), bytes));
    }
  }
  return 0;
}

static int finds_everything_after_a_checkpoint(void) {
  WORKS(fresh_plain(LUNAR_MODE_DEFAULT));
  for (int64_t key = 0; key < 80; key++) WORKS(insert(key, 1, 11 * (uint32_t)key));
  WORKS(lunar_checkpoint(&db));
  WORKS(power_cut());
  WORKS(open_plain());
  CHECK(has_rows(80));
  for (int64_t key = 0; key < 80; key++) CHECK(has(key, 1, 11 * (uint32_t)key));
  return 0;
}

static int wipe_super(void) {
  memset(row, 0, config.sector_bytes);
  for (uint32_t copy = 0; copy < 2; copy++)
    if (config.write(&config, copy, row, 1)) return -1;
  return 0;
}

static int believes_nothing_of_the_volume_before(void) {
  for (int wiped = 0; wiped < 2; wiped++) {
    for (int64_t rows = 40; rows; rows /= 2) {
      if (wiped) CHECK(wipe_super() == 0);
      WORKS(fresh_plain(LUNAR_MODE_FULL));
      for (int64_t key = 0; key < rows; key++) WORKS(insert(key, 1, 600));
      WORKS(power_cut());
      WORKS(open_plain());
      CHECK(has_rows((uint64_t)rows));
    }
  }
  return 0;
}

/* --- tests: limits and failures --- */

static int fills_the_device_and_works_again_after_deletion(void) {
  int64_t key = 0;
  config.sector_count = SMALL_SECTORS;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  while ((last_code = insert(key, 1, 900)) == 0) key++;
  CHECK(last_code == LUNAR_E_FULL && key > 20);
  CODE(LUNAR_E_FULL, insert(key, 1, 900));
  CHECK(has_rows((uint64_t)key));
  for (int64_t k = 0; k < key; k++) CHECK(has(k, 1, 900));
  for (int64_t k = 0; k < key; k++) WORKS(remove_key(k));
  const int64_t again = key * 8 / 10; /* blocks of other sizes may not fit as well as the first time */
  for (int64_t k = 0; k < again; k++) WORKS(insert(k, 2, 900));
  for (int64_t k = 0; k < again; k++) CHECK(has(k, 2, 900));
  WORKS(lunar_table_drop(&db, "plain"));
  CHECK(db.chunks_free == db.geometry.chunk_count);
  return 0;
}

static int has_no_more_tables_than_it_was_formatted_for(void) {
  const struct lunar_schema schema = plain_schema();
  config.tables_max = 2;
  WORKS(fresh(LUNAR_MODE_FULL));
  WORKS(lunar_table_create(&db, "one", &schema));
  WORKS(lunar_table_create(&db, "two", &schema));
  CODE(LUNAR_E_TABLES, lunar_table_create(&db, "three", &schema));
  WORKS(lunar_table_drop(&db, "one"));
  WORKS(lunar_table_create(&db, "three", &schema));
  return 0;
}

static int refuses_a_configuration_outside_its_constraints(void) {
  const struct lunar_config good = config;
  config.sector_bytes = 1000;
  CODE(LUNAR_E_INVALID, lunar_format(&config));
  config = good, config.read = NULL;
  CODE(LUNAR_E_INVALID, lunar_format(&config));
  config = good, config.buffer_bytes = LUNAR_BUFFER_BYTES_MIN(config.sector_bytes) - 1;
  CODE(LUNAR_E_BUFFER, lunar_format(&config));
  config = good, config.sector_count = 100;
  CODE(LUNAR_E_DEVICE, lunar_format(&config));
  config = good, config.class_growth = 3;
  CODE(LUNAR_E_INVALID, lunar_format(&config));
  config = good, config.mode = (enum lunar_mode)6;
  CODE(LUNAR_E_INVALID, lunar_mount(&db, &config));
  return 0;
}

static int refuses_a_schema_outside_the_limits(void) {
  struct lunar_schema schema = plain_schema();
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  CODE(LUNAR_E_EXISTS, lunar_table_create(&db, "plain", &schema));
  CODE(LUNAR_E_INVALID, lunar_table_create(&db, "", &schema));
  CODE(LUNAR_E_INVALID, lunar_table_create(&db, "a name of 24 characters.", &schema));
  schema.key = 3;
  CODE(LUNAR_E_INVALID, lunar_table_create(&db, "other", &schema));
  schema = plain_schema(), schema.columns[0].type = LUNAR_REAL;
  CODE(LUNAR_E_INVALID, lunar_table_create(&db, "other", &schema));
  schema = plain_schema(), schema.columns[1] = schema.columns[0];
  CODE(LUNAR_E_INVALID, lunar_table_create(&db, "other", &schema));
  schema = plain_schema(), schema.column_count = LUNAR_COLUMNS_MAX + 1;
  CODE(LUNAR_E_INVALID, lunar_table_create(&db, "other", &schema));
  CODE(LUNAR_E_NO_TABLE, lunar_table_open(&db, "other", &table));
  return 0;
}

static int refuses_rows_outside_the_schema(void) {
  struct lunar_value new_row[3] = {integer(1), integer(1), blob("", 0)};
  const struct lunar_value key = integer(1), large = integer((int64_t)INT32_MAX + 1);
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  new_row[0] = nothing();
  CODE(LUNAR_E_INVALID, lunar_insert(&table, new_row));
  new_row[0] = text("1");
  CODE(LUNAR_E_INVALID, lunar_insert(&table, new_row));
  new_row[0] = key, new_row[1] = large;
  CODE(LUNAR_E_INVALID, lunar_insert(&table, new_row));
  new_row[1] = key, new_row[2] = blob(content, 0x10000);
  CODE(LUNAR_E_TOO_LARGE, lunar_insert(&table, new_row));
  new_row[2] = blob(content, 100);
  WORKS(lunar_insert(&table, new_row));
  CODE(LUNAR_E_EXISTS, lunar_insert(&table, new_row));
  CODE(LUNAR_E_INVALID, lunar_update(&table, &key, 0, &key));
  CODE(LUNAR_E_INVALID, lunar_update(&table, &key, 3, &key));
  CODE(LUNAR_E_INVALID, lunar_update(&table, &key, 1, &large));
  CODE(LUNAR_E_BUFFER, lunar_get(&table, &key, row, 50, values));
  CODE(LUNAR_E_NOT_FOUND, update_number(2, 1));
  CHECK(has_rows(1));
  WORKS(get(1));
  CHECK(values[1].as.integer == 1 && values[2].bytes == 100);
  return 0;
}

static int tells_calls_out_of_turn(void) {
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  CODE(LUNAR_E_TXN, lunar_commit(&db));
  CODE(LUNAR_E_TXN, lunar_rollback(&db));
  WORKS(lunar_begin(&db));
  CODE(LUNAR_E_TXN, lunar_begin(&db));
  WORKS(lunar_commit(&db));
  WORKS(lunar_unmount(&db));
  CODE(LUNAR_E_INVALID, insert(1, 1, 1));
  CODE(LUNAR_E_INVALID, lunar_sync(&db));
  WORKS(fresh_plain(LUNAR_MODE_NONE));
  CODE(LUNAR_E_UNSUPPORTED, lunar_begin(&db));
  return 0;
}

static int tells_a_device_without_a_sound_volume(void) {
  uint32_t at = 40;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  WORKS(lunar_unmount(&db));
  CHECK(config.read(&config, 0, row, 1) == 0);
  row[at] ^= 1;
  CHECK(config.write(&config, 0, row, 1) == 0);
  WORKS(mount()); /* from the second copy */
  WORKS(lunar_unmount(&db));
  CHECK(config.write(&config, 1, row, 1) == 0);
  CODE(LUNAR_E_CORRUPT, mount());
  CHECK(wipe_super() == 0);
  CODE(LUNAR_E_NO_VOLUME, mount());
  return 0;
}

/* A layer above the device with injected failures. */
static struct {
  const struct lunar_config* below;
  uint32_t calls, fail_from, fail_to;
  int locked, locks;
} between;

static int fails(void) {
  between.calls++;
  return between.calls >= between.fail_from && between.calls < between.fail_to;
}

static int read_between(const struct lunar_config* c, uint32_t sector, void* data, uint32_t count) {
  (void)c;
  return fails() ? -1 : between.below->read(between.below, sector, data, count);
}

static int write_between(const struct lunar_config* c, uint32_t sector, const void* data, uint32_t count) {
  (void)c;
  return fails() ? -1 : between.below->write(between.below, sector, data, count);
}

static int sync_between(const struct lunar_config* c) {
  (void)c;
  return fails() ? -1 : between.below->sync(between.below);
}

static void lock_between(const struct lunar_config* c) {
  (void)c;
  between.locked++, between.locks++;
}

static void unlock_between(const struct lunar_config* c) {
  (void)c;
  between.locked--;
}

static int loses_nothing_when_the_device_fails(void) {
  static struct lunar_config below;
  below = config;
  memset(&between, 0, sizeof between);
  between.below = &below;
  config.read = read_between, config.write = write_between, config.sync = sync_between;
  for (uint32_t failing = 1; failing < 40; failing += 3) {
    between.fail_to = 0;
    WORKS(fresh_plain(LUNAR_MODE_FULL));
    for (int64_t key = 0; key < 20; key++) WORKS(insert(key, 1, 300));
    between.fail_from = between.calls + failing, between.fail_to = UINT32_MAX;
    int64_t key = 20;
    while ((last_code = insert(key, 1, 300)) == 0) key++;
    CHECK(last_code == LUNAR_E_IO);
    between.fail_to = 0;
    WORKS(power_cut());
    WORKS(open_plain());
    for (int64_t k = 0; k < key; k++) CHECK(has(k, 1, 300));
    CHECK(has_rows((uint64_t)key) || (has_rows((uint64_t)key + 1) && has(key, 1, 300)));
  }
  return 0;
}

static int locks_around_every_call(void) {
  const struct lunar_schema schema = plain_schema();
  uint64_t rows;
  memset(&between, 0, sizeof between);
  config.lock = lock_between, config.unlock = unlock_between;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  const int before = between.locks;
  WORKS(insert(1, 1, 10));
  CODE(LUNAR_E_EXISTS, insert(1, 1, 10));
  CODE(LUNAR_E_EXISTS, lunar_table_create(&db, "plain", &schema));
  WORKS(lunar_count(&table, &rows));
  WORKS(lunar_unmount(&db));
  CHECK(between.locks == before + 5 && between.locked == 0);
  CODE(LUNAR_E_INVALID, lunar_count(&table, &rows));
  CHECK(between.locked == 0);
  return 0;
}

#if LUNAR_WITH_TEXTS
static int has_a_text_for_every_error(void) {
  const char* const unknown = lunar_error_text(-1000);
  CHECK(strcmp(lunar_error_text(1), lunar_error_text(0)) == 0);
  for (int error = 0; error >= LUNAR_E_UNSUPPORTED; error--) {
    CHECK(strcmp(lunar_error_text(error), unknown) != 0);
    for (int other = 0; other > error; other--) CHECK(strcmp(lunar_error_text(error), lunar_error_text(other)) != 0);
  }
  return 0;
}
#endif

/* --- tests: ring tables, optional modules --- */

#if LUNAR_WITH_RING
static int fresh_ring(enum lunar_ring ring, uint64_t limit) {
  struct lunar_schema schema = plain_schema();
  schema.ring = (uint8_t)ring, schema.ring_limit = limit;
  int error = fresh(LUNAR_MODE_FULL);
  if (!error) error = lunar_table_create(&db, "plain", &schema);
  return error ? error : open_plain();
}

static int keeps_the_newest_rows_of_a_ring(void) {
  WORKS(fresh_ring(LUNAR_RING_ROWS, 50));
  for (int64_t key = 0; key < 300; key++) WORKS(insert(key, 1, 10 * (uint32_t)(key % 60)));
  WORKS(power_cut());
  WORKS(open_plain());
  CHECK(has_rows(50));
  CODE(LUNAR_E_NOT_FOUND, get(249));
  for (int64_t key = 250; key < 300; key++) CHECK(has(key, 1, 10 * (uint32_t)(key % 60)));
  return 0;
}

static int never_fills_the_device_with_a_ring(void) {
  config.sector_count = SMALL_SECTORS;
  WORKS(fresh_ring(LUNAR_RING_BYTES, 40 * 1024));
  for (int64_t key = 0; key < 400; key++) WORKS(insert(key, 1, 500));
  for (int64_t key = 380; key < 400; key++) CHECK(has(key, 1, 500));
  CODE(LUNAR_E_NOT_FOUND, get(300));
  return 0;
}

static int forgets_rows_of_a_ring_by_their_age(void) {
  WORKS(fresh_ring(LUNAR_RING_AGE, 3600));
  for (int64_t time = 0; time < 86400; time += 600) WORKS(insert(time, 1, 20));
  CHECK(has_rows(7));
  CHECK(has(85800, 1, 20) && has(82200, 1, 20));
  CODE(LUNAR_E_NOT_FOUND, get(81600));
  return 0;
}
#endif

#if LUNAR_WITH_CURSOR
static int reads_each_row_once_with_a_cursor(void) {
  struct lunar_cursor cursor;
  int64_t rows = 0, sum = 0;
  WORKS(fresh_plain(LUNAR_MODE_DEFAULT));
  for (int64_t key = 0; key < 150; key++) WORKS(insert(key, 1, 7 * (uint32_t)key));
  for (int64_t key = 0; key < 150; key += 10) WORKS(remove_key(key));
  WORKS(lunar_cursor_open(&cursor, &table, NULL, NULL, 0));
  while ((last_code = lunar_cursor_next(&cursor, row, sizeof row, values)) == 0) {
    const int64_t key = values[0].as.integer;
    CHECK(is_bytes(&values[2], content_of(key, 1, 7 * (uint32_t)key), 7 * (uint32_t)key));
    rows++, sum += key;
  }
  CHECK(last_code == LUNAR_E_NOT_FOUND && rows == 135 && sum == 11175 - 1050);
  return 0;
}
#endif

#if LUNAR_WITH_TREE
static int fresh_tree(void) {
  struct lunar_schema schema = plain_schema();
  schema.index = LUNAR_INDEX_TREE;
  int error = fresh(LUNAR_MODE_FULL);
  if (!error) error = lunar_table_create(&db, "plain", &schema);
  return error ? error : open_plain();
}

static int finds_rows_by_a_tree_index(void) {
  WORKS(fresh_tree());
  for (int64_t i = 0; i < 400; i++) WORKS(insert((i * 7919 + 13) % 1000 - 500, 1, 30));
  for (int64_t i = 0; i < 400; i += 2) WORKS(remove_key((i * 7919 + 13) % 1000 - 500));
  WORKS(power_cut());
  WORKS(open_plain());
  CHECK(has_rows(200));
  for (int64_t i = 0; i < 400; i++) {
    const int64_t key = (i * 7919 + 13) % 1000 - 500;
    CHECK(i % 2 ? has(key, 1, 30) : get(key) == LUNAR_E_NOT_FOUND);
  }
  return 0;
}
#endif

#if LUNAR_WITH_TREE && LUNAR_WITH_CURSOR
static int reads_a_range_in_order_of_the_keys(void) {
  WORKS(fresh_tree());
  for (int64_t i = 0; i < 300; i++) WORKS(insert(i * 101 % 300 - 100, 1, 30));
  for (int descending = 0; descending < 2; descending++) {
    const struct lunar_value from = integer(-20), to = integer(120);
    struct lunar_cursor cursor;
    int64_t expected = descending ? 120 : -20;
    WORKS(lunar_cursor_open(&cursor, &table, &from, &to, descending));
    while ((last_code = lunar_cursor_next(&cursor, row, sizeof row, values)) == 0) {
      CHECK(values[0].as.integer == expected);
      expected += descending ? -1 : 1;
    }
    CHECK(last_code == LUNAR_E_NOT_FOUND && expected == (descending ? -21 : 121));
  }
  return 0;
}
#endif

#if LUNAR_WITH_SECONDARY && LUNAR_WITH_TREE && LUNAR_WITH_CURSOR
/* Counts the rows that the index has for the number, and checks each row's number. */
static int count_by(const char* index, int64_t number, int* rows) {
  const struct lunar_value wanted = integer(number);
  struct lunar_cursor cursor;
  WORKS(lunar_index_cursor(&cursor, &table, index, &wanted, &wanted, 0));
  for (*rows = 0; (last_code = lunar_cursor_next(&cursor, row, sizeof row, values)) == 0; ++*rows)
    CHECK(values[1].as.integer == number);
  CHECK(last_code == LUNAR_E_NOT_FOUND);
  return 0;
}

static int finds_rows_by_secondary_indexes(void) {
  int rows = 0;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  for (int64_t key = 0; key < 120; key++) WORKS(insert(key, (uint32_t)key % 7, 20));
  WORKS(lunar_index_create(&db, "plain", "hash", 1, LUNAR_INDEX_HASH));
  WORKS(lunar_index_create(&db, "plain", "tree", 1, LUNAR_INDEX_TREE));
  for (int64_t key = 120; key < 210; key++) WORKS(insert(key, (uint32_t)key % 7, 20));
  const struct lunar_value five = integer(5);
  for (int64_t key = 0; key < 210; key += 7) {
    const struct lunar_value zero = integer(key), one = integer(key + 1);
    WORKS(lunar_update(&table, &zero, 1, &five));
    WORKS(lunar_remove(&table, &one));
  }
  WORKS(mount()); /* as after a cut */
  WORKS(lunar_table_open(&db, "plain", &table));
  for (int64_t number = 0; number < 7; number++) {
    const int expected = number < 2 ? 0 : number == 5 ? 60 : 30;
    CHECK(count_by("hash", number, &rows) == 0 && rows == expected);
    CHECK(count_by("tree", number, &rows) == 0 && rows == expected);
  }
  return 0;
}
#endif

#if LUNAR_WITH_CHECK
static int finds_no_problem_in_a_volume_that_was_used(void) {
  struct lunar_findings found;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  for (int64_t key = 0; key < 100; key++) WORKS(insert(key, 1, 13 * (uint32_t)key));
  for (int64_t key = 0; key < 100; key += 3) WORKS(update_content(key, 2, 200));
  for (int64_t key = 0; key < 100; key += 7) WORKS(remove_key(key));
  WORKS(power_cut());
  WORKS(lunar_check(&db, &found));
  CHECK(found.problem == LUNAR_PROBLEM_NONE && found.tables == 1 && found.rows == 85 && found.index_entries == 85);
  return 0;
}
#endif

#if LUNAR_WITH_SQL
static uint64_t statement_memory[256];

/* Runs a statement. Returns its error or the number of its rows, and in *sum the sum of their first columns. */
static int sql(const char* statement_text, double* sum) {
  struct lunar_statement* statement;
  int rows = 0;
  *sum = 0;
  last_code = lunar_prepare(&db, statement_text, strlen(statement_text), statement_memory, sizeof statement_memory,
                            &statement, NULL);
  while (last_code == 0 && (last_code = lunar_step(statement)) == LUNAR_ROW) {
    rows++, last_code = 0;
    *sum += rows * lunar_column_double(statement, 0);
  }
  return last_code ? last_code : rows;
}

static int runs_statements_of_sql_in_little_memory(void) {
  double sum;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  WORKS(sql("CREATE TABLE t (id INT PRIMARY KEY, heat REAL, name TEXT)", &sum));
  WORKS(sql("INSERT INTO t VALUES (1, 1.5, 'one'), (2, -2.25, 'two'), (3, NULL, 'three'), (4, 1e2, NULL)", &sum));
  CHECK(sql("INSERT INTO t VALUES (5, 5, 'five'), (1, 1, 'again')", &sum) == LUNAR_E_EXISTS);
  CHECK(sql("SELECT heat FROM t WHERE id <= 4 ORDER BY heat DESC", &sum) == 4 && sum == 100 + 2 * 1.5 - 3 * 2.25);
  WORKS(sql("UPDATE t SET heat = heat + 0.5 WHERE name LIKE 'T%' OR heat BETWEEN 1 AND 2", &sum));
  CHECK(sql("SELECT SUM(heat) FROM t", &sum) == 1 && sum == 100.25);
  CHECK(sql("SELECT AVG(id) FROM t GROUP BY name", &sum) == 4 && sum == 4 + 2 * 1 + 3 * 3 + 4 * 2);
  WORKS(sql("DELETE FROM t WHERE id IN (2, 3)", &sum));
  CHECK(sql("SELECT id FROM t", &sum) == 2);
  CHECK(sql("SELECT id FROM", &sum) == LUNAR_E_SQL);
  return 0;
}
#endif

#if LUNAR_WITH_STAT
static int counts_tables_flushes_and_bytes(void) {
  struct lunar_statistics before, after;
  WORKS(fresh_plain(LUNAR_MODE_FULL));
  WORKS(lunar_stat(&db, &before));
  CHECK(before.tables == 1 && before.mode == LUNAR_MODE_FULL && before.sector_bytes == config.sector_bytes);
  for (int64_t key = 0; key < 5; key++) WORKS(insert(key, 1, 20));
  WORKS(lunar_stat(&db, &after));
  CHECK(after.flushes >= before.flushes + 5 && after.sectors_written >= before.sectors_written + 5);
  return 0;
}
#endif

/* --- the list --- */

#define TEST(name) \
  { #name, name }
static const struct {
  const char* name;
  int (*run)(void);
} tests[] = {
    TEST(formats_and_mounts_an_empty_volume),
    TEST(creates_lists_and_drops_tables),
    TEST(tells_a_tables_schema),
    TEST(keeps_rows_over_unmount_and_mount),
    TEST(keeps_rows_of_several_tables_apart),
    TEST(inserts_and_gets_every_type),
    TEST(updates_every_type_and_to_null_and_back),
    TEST(finds_rows_by_text_and_blob_keys),
    TEST(stores_rows_from_empty_to_several_kilobytes),
    TEST(updates_that_change_a_rows_length_keep_the_others),
    TEST(removes_rows_and_takes_their_keys_again),
    TEST(finds_each_of_many_small_rows),
    TEST(keeps_a_committed_transaction),
    TEST(undoes_a_transaction_that_is_rolled_back),
    TEST(rolls_back_a_transaction_larger_than_half_the_log),
    TEST(keeps_every_acknowledged_operation_over_power_cuts),
    TEST(forgets_an_open_transaction_at_a_power_cut),
    TEST(keeps_what_was_synced_in_every_mode),
    TEST(finds_everything_after_a_checkpoint),
    TEST(believes_nothing_of_the_volume_before),
    TEST(fills_the_device_and_works_again_after_deletion),
    TEST(has_no_more_tables_than_it_was_formatted_for),
    TEST(refuses_a_configuration_outside_its_constraints),
    TEST(refuses_a_schema_outside_the_limits),
    TEST(refuses_rows_outside_the_schema),
    TEST(tells_calls_out_of_turn),
    TEST(tells_a_device_without_a_sound_volume),
    TEST(loses_nothing_when_the_device_fails),
    TEST(locks_around_every_call),
#if LUNAR_WITH_TEXTS
    TEST(has_a_text_for_every_error),
#endif
#if LUNAR_WITH_RING
    TEST(keeps_the_newest_rows_of_a_ring),
    TEST(never_fills_the_device_with_a_ring),
    TEST(forgets_rows_of_a_ring_by_their_age),
#endif
#if LUNAR_WITH_CURSOR
    TEST(reads_each_row_once_with_a_cursor),
#endif
#if LUNAR_WITH_TREE
    TEST(finds_rows_by_a_tree_index),
#endif
#if LUNAR_WITH_TREE && LUNAR_WITH_CURSOR
    TEST(reads_a_range_in_order_of_the_keys),
#endif
#if LUNAR_WITH_SECONDARY && LUNAR_WITH_TREE && LUNAR_WITH_CURSOR
    TEST(finds_rows_by_secondary_indexes),
#endif
#if LUNAR_WITH_CHECK
    TEST(finds_no_problem_in_a_volume_that_was_used),
#endif
#if LUNAR_WITH_SQL
    TEST(runs_statements_of_sql_in_little_memory),
#endif
#if LUNAR_WITH_STAT
    TEST(counts_tables_flushes_and_bytes),
#endif
};
enum { TESTS = sizeof tests / sizeof tests[0] };

static void print_result(void (*print)(const char* text), int number, const char* name, int failed_line) {
  print(failed_line ? "not ok " : "ok ");
  print_integer(print, number, 0);
  print(" - "), print(name);
  if (failed_line) {
    print(" # line "), print_integer(print, failed_line, 0);
    print(", last code "), print_integer(print, last_code, 0);
    print(": "), print(lunar_error_text(last_code));
  }
  print("\n");
}

int lunar_portable_tests(const struct lunar_config* device, void (*print)(const char* text)) {
  int failed = 0;
  print("1.."), print_integer(print, TESTS, 0), print("\n");
  for (int i = 0; i < TESTS; i++) {
    config = *device;
    config.sector_count = PORTABLE_SECTORS;
    last_code = 0;
    const int line = tests[i].run();
    forget_mounted();
    failed += line != 0;
    print_result(print, i + 1, tests[i].name, line);
  }
  print("# "), print_integer(print, TESTS - failed, 0), print(" of "), print_integer(print, TESTS, 0),
      print(" tests passed\n");
  return failed;
}
