/* Fills the stack below a call with a pattern; afterwards the lowest changed byte gives the call's depth. Emulated
 * boards only: a paging system would have to map the stack first, x86 writes below the pointer.
 */
#include "ram_use.h"

#include <string.h>

#include "modules.h"

enum { PAINTED_BYTES = 8192, COLOUR = 0xc5, ROW_BYTES = 2600, ROWS = 40, SECTORS = 1024, LOG_SECTORS = 192 };

static struct lunar_config config;
static struct lunar db;
static struct lunar_table table;
static void* buffer[LUNAR_BUFFER_BYTES_MIN(512) / sizeof(void*)];
static uint8_t row[ROW_BYTES + 64], content[ROW_BYTES];
static struct lunar_schema schema;
static struct lunar_value values[3], key;
static uint8_t column;

static uintptr_t stack_pointer(void) {
  uintptr_t pointer;
#if defined(__riscv)
  __asm__ volatile("mv %0, sp" : "=r"(pointer));
#elif defined(__arm__)
  __asm__ volatile("mov %0, sp" : "=r"(pointer));
#else
#error "the stack pointer of this processor"
#endif
  return pointer;
}

static __attribute__((noinline)) uint32_t stack_of(int (*operation)(void), int* error) {
  const uintptr_t pointer = stack_pointer();
  volatile uint8_t* const bottom = (volatile uint8_t*)(pointer - PAINTED_BYTES);
  uint32_t unused = 0;
  for (uint32_t i = 0; i < PAINTED_BYTES; i++) bottom[i] = COLOUR;
  *error = operation();
  while (unused < PAINTED_BYTES && bottom[unused] == COLOUR) unused++;
  return PAINTED_BYTES - unused;
}

/* --- operations --- */

static int format(void) { return lunar_format(&config); }
static int mount(void) { return lunar_mount(&db, &config); }
static int unmount(void) { return lunar_unmount(&db); }
static int create(void) { return lunar_table_create(&db, "table", &schema); }
static int open_table(void) { return lunar_table_open(&db, "table", &table); }
static int insert(void) { return lunar_insert(&table, values); }
static int update(void) { return lunar_update(&table, &key, column, &values[column]); }
static int get(void) { return lunar_get(&table, &key, row, sizeof row, values); }
static int remove_row(void) { return lunar_remove(&table, &key); }
static int commit(void) { return lunar_commit(&db); }
static int rollback(void) { return lunar_rollback(&db); }
static int checkpoint(void) { return lunar_checkpoint(&db); }
static int drop(void) { return lunar_table_drop(&db, "table"); }

/* What a build has not does nothing. */
#if LUNAR_WITH_CURSOR
static struct lunar_cursor cursor;
static int cursor_open(void) { return lunar_cursor_open(&cursor, &table, NULL, NULL, 0); }
static int cursor_next(void) { return lunar_cursor_next(&cursor, row, sizeof row, values); }
#else
#define cursor_open() 0
#define cursor_next NULL
#endif
#if LUNAR_WITH_TRUNCATE
static int truncate_table(void) { return lunar_truncate(&table); }
#else
#define truncate_table NULL
#endif
#if LUNAR_WITH_COMPACT
static int compact(void) {
  uint32_t moved;
  return lunar_compact(&db, 16, &moved);
}
#else
#define compact NULL
#endif
#if LUNAR_WITH_CHECK
static int check(void) {
  struct lunar_findings found;
  return lunar_check(&db, &found);
}
#else
#define check NULL
#endif
#if LUNAR_WITH_REPAIR
static int repair(void) {
  struct lunar_losses losses;
  return lunar_repair(&table, &losses);
}
#else
#define repair NULL
#endif
#if LUNAR_WITH_SECONDARY
static const char* index_name;
static uint8_t index_kind;
static int index_create(void) { return lunar_index_create(&db, "table", index_name, 1, index_kind); }
static int index_drop(void) { return lunar_index_drop(&db, index_name); }
#else
#define index_create NULL
#define index_drop NULL
#endif

enum operation {
  FORMAT,
  MOUNT,
  UNMOUNT,
  CREATE,
  OPEN,
  INSERT,
  UPDATE,
  GET,
  REMOVE,
  COMMIT,
  ROLLBACK,
  CHECKPOINT,
  DROP,
  CURSOR,
  TRUNCATE,
  COMPACT,
  CHECK,
  REPAIR,
  INDEX_CREATE,
  INDEX_DROP
};
static int (*const operations[RAM_USES])(void) = {
    format,   mount,      unmount, create,      open_table,     insert,  update, get,    remove_row,   commit,
    rollback, checkpoint, drop,    cursor_next, truncate_table, compact, check,  repair, index_create, index_drop};
static const char* const names[RAM_USES] = {"format",   "mount",      "unmount", "create",       "open",
                                            "insert",   "update",     "get",     "remove",       "commit",
                                            "rollback", "checkpoint", "drop",    "cursor",       "truncate",
                                            "compact",  "check",      "repair",  "index create", "index drop"};

static struct ram_use* to;

static int of(enum operation operation) {
  int error;
  if (!operations[operation]) return 0;
  const uint32_t bytes = stack_of(operations[operation], &error);
  if (bytes > to[operation].stack_bytes) to[operation].stack_bytes = bytes;
  return error;
}

/* --- a life of a table --- */

static void set_row(int64_t number, uint32_t bytes) {
  key = (struct lunar_value){.type = LUNAR_INT64, .as.integer = number};
  values[0] = key;
  values[1] = (struct lunar_value){.type = LUNAR_INT64, .as.integer = number % 100};
  values[2] = (struct lunar_value){.type = LUNAR_BLOB, .bytes = bytes, .as.data = content};
}

static int mount_again(void) {
  const int error = of(MOUNT);
  return error ? error : of(OPEN);
}

/* Small and large rows, updates in place and with a move, gets of both, and the same from the log. */
static int rows(void) {
  for (int64_t i = 0; i < ROWS; i++) {
    set_row(i, i % 3 ? (uint32_t)i : (uint32_t)i * 65);
    int error = of(INSERT);
    for (column = 1; !error && column < 3; column++) {
      set_row(i, i % 2 ? 700 : 20);
      error = of(UPDATE);
    }
    if (!error) error = of(GET);
    if (!error && i % 4 == 3) error = of(REMOVE);
    if (!error && i % 8 == 7) error = mount_again();
    if (error) return error;
  }
  return of(CHECKPOINT);
}

/* Ended by the program, and by a full log. */
static int transactions(void) {
  for (int i = 0; i < 6; i++) {
    int error = lunar_begin(&db);
    for (int64_t k = 0; !error && k < 3; k++) {
      set_row(1000 + 3 * i + k, 500);
      error = of(INSERT);
    }
    if (!error) error = of(i % 2 ? COMMIT : ROLLBACK);
    if (error) return error;
  }
  int error = lunar_begin(&db);
  for (int64_t k = 0; !error && k < 1000; k++) {
    set_row((k * 7919) % 1000 + 2000, 30);
    error = of(INSERT);
  }
  return error == LUNAR_E_TXN_FULL ? of(ROLLBACK) : error;
}

/* A full device; a ring table does not fill it. */
static int fill(void) {
  int error = 0;
  for (int64_t k = 0; !error && k < 300; k++) {
    set_row(3000 + k, ROW_BYTES);
    error = of(INSERT);
  }
  if (error && error != LUNAR_E_FULL) return error;
  for (int64_t k = 0; k < 60; k++) {
    set_row(3000 + k, 900);
    column = 2;
    error = of(UPDATE);
    if (error && error != LUNAR_E_FULL && error != LUNAR_E_NOT_FOUND) return error;
    if (k % 2) error = of(REMOVE);
    if (error && error != LUNAR_E_FULL && error != LUNAR_E_NOT_FOUND) return error;
  }
  for (int64_t k = 60; k < 200; k++) {
    set_row(3000 + k, 0);
    error = of(REMOVE);
    if (error && error != LUNAR_E_NOT_FOUND) return error;
  }
  return 0;
}

static int read_all(void) {
  int error = cursor_open();
  for (uint32_t k = 0; !error && operations[CURSOR] && k < 2000; k++) error = of(CURSOR);
  return error == LUNAR_E_NOT_FOUND ? 0 : error;
}

/* Every fifth sector of the rows and indexes becomes zeros. */
static int damage(void) {
  memset(row, 0, 512);
  int error = of(UNMOUNT);
  for (uint32_t sector = db.geometry.data_at; !error && sector < SECTORS; sector += 5)
    error = config.write(&config, sector, row, 1);
  return error ? error : mount_again();
}

static int sound_or_not(void) {
  const int error = of(CHECK);
  return error == LUNAR_E_CORRUPT ? 0 : error;
}

static int repairs(void) {
  int error = operations[REPAIR] ? damage() : 0;
  if (!error) error = sound_or_not();
  if (!error) error = of(REPAIR);
  return error ? error : sound_or_not(); /* unreachable pages of the index stay allocated */
}

static int indexes(uint32_t count, enum operation operation) {
  int error = 0;
#if LUNAR_WITH_SECONDARY
  for (uint32_t i = 0; !error && i < count; i++) {
    index_name = i ? "hash" : "tree", index_kind = i ? LUNAR_INDEX_HASH : LUNAR_INDEX_TREE;
    error = of(operation);
  }
#else
  (void)count, (void)operation;
#endif
  return error;
}

static int life(uint32_t index_count) {
  int error = of(FORMAT);
  if (!error) error = of(MOUNT);
  if (!error) error = of(CREATE);
  if (!error) error = of(OPEN);
  if (!error) error = indexes(index_count, INDEX_CREATE);
  if (!error) error = rows();
  if (!error) error = transactions();
  if (!error) error = fill();
  if (!error) error = of(COMPACT);
  if (!error) error = of(CHECK);
  if (!error) error = read_all();
  if (!error) error = indexes(index_count, INDEX_DROP);
  if (!error) error = indexes(index_count, INDEX_CREATE);
  if (!error) error = repairs();
  if (!error) error = of(TRUNCATE);
  set_row(1, 100);
  if (!error && operations[TRUNCATE]) error = of(INSERT);
  if (!error) error = of(DROP);
  return error ? error : of(UNMOUNT);
}

int measure_ram_use(const struct lunar_config* device, struct ram_use uses[RAM_USES]) {
  to = uses;
  for (int i = 0; i < RAM_USES; i++) uses[i] = (struct ram_use){names[i], 0};
  int error = 0;
  for (int i = 0; !error && i < 6; i++) {
    config = *device;
    config.sector_count = SECTORS, config.log_bytes = LOG_SECTORS * 512;
    config.mode = i < 3 ? LUNAR_MODE_FULL : LUNAR_MODE_METADATA;
    if (i < 3)
      config.buffer = buffer, config.buffer_bytes = sizeof buffer;
    else
      config.atomic_write_bytes = 512;
    schema = (struct lunar_schema){
        .column_count = 3, .columns = {{"key", LUNAR_INT64, 0}, {"number", LUNAR_INT8, 0}, {"blob", LUNAR_BLOB, 0}}};
#if LUNAR_WITH_TREE && LUNAR_WITH_RING && LUNAR_WITH_CHECKSUM
    schema.index = i % 3 ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH;
    schema.checksum = i % 3 == 1;
    if (i % 3 == 2) schema.ring = LUNAR_RING_ROWS, schema.ring_limit = 30;
#else
    if (i % 3) continue;
#endif
    error = life(i % 3 == 2 ? 1 : 2);
  }
  return error;
}
