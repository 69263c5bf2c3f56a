/* Fills the stack below a call with a pattern; afterwards the lowest changed byte gives the call's depth. Emulated
 * boards only: a paging system would have to map the stack first, x86 writes below the pointer.
 */
#include "ram_use.h"

#include <string.h>

enum { PAINTED_BYTES = 8192, COLOUR = 0xc5, ROW_BYTES = 2600, ROWS = 40 };

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

static int format(void) { return lunar_format(&config); }
static int mount(void) { return lunar_mount(&db, &config); }
static int create(void) { return lunar_table_create(&db, "table", &schema); }
static int insert(void) { return lunar_insert(&table, values); }
static int update(void) { return lunar_update(&table, &key, column, &values[column]); }
static int get(void) { return lunar_get(&table, &key, row, sizeof row, values); }
static int remove_row(void) { return lunar_remove(&table, &key); }
static int commit(void) { return lunar_commit(&db); }
static int rollback(void) { return lunar_rollback(&db); }
static int checkpoint(void) { return lunar_checkpoint(&db); }

static int run(struct ram_use* use, int (*operation)(void)) {
  int error;
  const uint32_t bytes = stack_of(operation, &error);
  if (bytes > use->stack_bytes) use->stack_bytes = bytes;
  return error;
}

enum { FORMAT, MOUNT, CREATE, INSERT, UPDATE, GET, REMOVE, COMMIT, ROLLBACK, CHECKPOINT };
static int (*const operations[RAM_USES])(void) = {format, mount,      create, insert,   update,
                                                  get,    remove_row, commit, rollback, checkpoint};
static const char* const names[RAM_USES] = {"format", "mount",  "create table", "insert",   "update",
                                            "get",    "remove", "commit",       "rollback", "checkpoint"};

static struct ram_use* to;
static int of(int operation) { return run(&to[operation], operations[operation]); }

static void set_row(int64_t number, uint32_t bytes) {
  key = (struct lunar_value){.type = LUNAR_INT64, .as.integer = number};
  values[0] = key;
  values[1] = (struct lunar_value){.type = LUNAR_INT64, .as.integer = 1};
  values[2] = (struct lunar_value){.type = LUNAR_BLOB, .bytes = bytes, .as.data = content};
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
    if (!error && i % 8 == 7) error = of(MOUNT);
    if (!error && i % 8 == 7) error = lunar_table_open(&db, "table", &table);
    if (error) return error;
  }
  return of(CHECKPOINT);
}

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
  return 0;
}

int measure_ram_use(const struct lunar_config* device, struct ram_use uses[RAM_USES]) {
  to = uses;
  for (int i = 0; i < RAM_USES; i++) uses[i] = (struct ram_use){names[i], 0};
  config = *device;
  config.mode = LUNAR_MODE_FULL, config.buffer = buffer, config.buffer_bytes = sizeof buffer;
  schema = (struct lunar_schema){
      .column_count = 3, .columns = {{"key", LUNAR_INT64, 0}, {"number", LUNAR_INT8, 0}, {"blob", LUNAR_BLOB, 0}}};
  int error = of(FORMAT);
  if (!error) error = of(MOUNT);
  if (!error) error = of(CREATE);
  if (!error) error = lunar_table_open(&db, "table", &table);
  if (!error) error = rows();
  if (!error) error = transactions();
  return error;
}
