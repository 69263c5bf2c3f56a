#include "ycsb.h"

#include <string.h>

enum { COLUMNS = 5, COLUMN_BYTES = 100, SKEWS = 3, MIXES = 4 };

static const char* const names[YCSB_PHASES] = {"load",           "100/0 skew 0",   "100/0 skew 0.5", "100/0 skew 1",
                                               "90/10 skew 0",   "90/10 skew 0.5", "90/10 skew 1",   "50/50 skew 0",
                                               "50/50 skew 0.5", "50/50 skew 1",   "10/90 skew 0",   "10/90 skew 0.5",
                                               "10/90 skew 1"};
static const uint8_t written_percent[MIXES] = {100, 90, 50, 10};

static struct lunar_config config;
static struct lunar db;
static struct lunar_table table;
static uint64_t state;
static uint32_t below[YCSB_ROWS]; /* of 2^32 draws, those of this rank or an earlier one, rounded */
static char characters[COLUMNS][COLUMN_BYTES], row[COLUMNS * (COLUMN_BYTES + 2) + 16];

/* --- counting device --- */

static struct {
  const struct lunar_config* device;
  uint32_t sectors_read, sectors_written, flushes;
} counted;

static int count_read(const struct lunar_config* c, uint32_t sector, void* data, uint32_t count) {
  (void)c;
  counted.sectors_read += count;
  return counted.device->read(counted.device, sector, data, count);
}

static int count_write(const struct lunar_config* c, uint32_t sector, const void* data, uint32_t count) {
  (void)c;
  counted.sectors_written += count;
  return counted.device->write(counted.device, sector, data, count);
}

static int count_sync(const struct lunar_config* c) {
  (void)c;
  counted.flushes++;
  return counted.device->sync(counted.device);
}

/* --- random draws --- */

/* xorshift64* (S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016). */
static uint32_t draw(void) {
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return (uint32_t)(state * 2685821657736338717u >> 32);
}

static uint32_t root(uint64_t square) {
  uint64_t low = 0;
  for (uint64_t bit = (uint64_t)1 << 31; bit; bit >>= 1)
    if ((low | bit) * (low | bit) <= square) low |= bit;
  return (uint32_t)low;
}

/* rank^-(skew/2), in units of 2^-16. */
static uint64_t weight(uint32_t rank, int skew) {
  if (skew == 0) return 1u << 16;
  return skew == 1 ? ((uint64_t)1 << 32) / root((uint64_t)rank << 32) : (1u << 16) / rank;
}

static void plan_ranks(int skew) {
  uint64_t sum = 0, before = 0;
  for (uint32_t rank = 1; rank <= YCSB_ROWS; rank++) sum += weight(rank, skew);
  for (uint32_t rank = 1; rank <= YCSB_ROWS; rank++) {
    before += weight(rank, skew);
    below[rank - 1] = (uint32_t)((before << 32) / sum - 1);
  }
}

/* Popular rows are spread: 7 is coprime to the number of rows. */
static int64_t draw_key(void) {
  const uint32_t drawn = draw();
  uint32_t low = 0, high = YCSB_ROWS - 1;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (below[middle] >= drawn)
      high = middle;
    else
      low = middle + 1;
  }
  return low * 7 % YCSB_ROWS;
}
_Static_assert(YCSB_ROWS % 7 != 0, "each rank has its own key");

static void draw_column(struct lunar_value* value, uint32_t column) {
  for (uint32_t i = 0; i < COLUMN_BYTES; i++) characters[column][i] = (char)(' ' + draw() % 95);
  *value = (struct lunar_value){.type = LUNAR_TEXT, .bytes = COLUMN_BYTES, .as.data = characters[column]};
}

/* --- operations: drawn before the count begins --- */

static struct {
  enum { INSERT, UPDATE, READ } kind;
  uint8_t column;
  struct lunar_value values[1 + COLUMNS]; /* the key first */
} operation;

static void draw_operation(int written, uint32_t number) {
  operation.kind = written < 0 ? INSERT : (int)(draw() % 100) < written ? UPDATE : READ;
  operation.values[0] = (struct lunar_value){.type = LUNAR_INT64, .as.integer = written < 0 ? number : draw_key()};
  operation.column = (uint8_t)(1 + draw() % COLUMNS);
  for (uint32_t i = 0; operation.kind == INSERT && i < COLUMNS; i++) draw_column(&operation.values[1 + i], i);
  if (operation.kind == UPDATE) draw_column(&operation.values[operation.column], 0);
}

static int operate(void) {
  const struct lunar_value* key = &operation.values[0];
  switch (operation.kind) {
    case INSERT:
      return lunar_insert(&table, operation.values);
    case UPDATE:
      return lunar_update(&table, key, operation.column, &operation.values[operation.column]);
    case READ:
      return lunar_get(&table, key, row, sizeof row, operation.values);
  }
  return LUNAR_E_INVALID;
}

static int create(void) {
  struct lunar_schema schema = {.column_count = 1 + COLUMNS, .columns = {{"key", LUNAR_INT64, 0}}};
  for (int i = 1; i <= COLUMNS; i++) schema.columns[i] = (struct lunar_column){{'f', (char)('0' + i)}, LUNAR_TEXT, 0};
  int error = lunar_table_create(&db, "usertable", &schema);
  if (!error) error = lunar_table_open(&db, "usertable", &table);
  return error ? error : lunar_sync(&db);
}

/* written: percent of the operations; negative: a load. */
static int run_phase(struct ycsb_phase* phase, int written, uint64_t (*instructions)(void)) {
  phase->operations = written < 0 ? YCSB_ROWS : YCSB_OPERATIONS;
  counted.sectors_read = 0, counted.sectors_written = 0, counted.flushes = 0;
  int error = 0;
  for (uint32_t i = 0; !error && i < phase->operations; i++) {
    draw_operation(written, i);
    const uint64_t before = instructions ? instructions() : 0;
    error = operate();
    if (instructions) phase->instructions += instructions() - before;
  }
  if (!error) error = lunar_sync(&db);
  phase->sectors_read = counted.sectors_read, phase->sectors_written = counted.sectors_written;
  phase->flushes = counted.flushes;
  return error;
}

int ycsb_run(const struct lunar_config* device, enum lunar_mode mode, uint64_t (*instructions)(void),
             struct ycsb_phase phases[YCSB_PHASES]) {
  counted.device = device;
  config = *device;
  config.read = count_read, config.write = count_write, config.sync = count_sync;
  config.mode = mode, config.sector_count = YCSB_SECTORS;
  state = 20230618;
  for (int i = 0; i < YCSB_PHASES; i++) phases[i] = (struct ycsb_phase){.name = names[i]};
  int error = lunar_format(&config);
  if (!error) error = lunar_mount(&db, &config);
  if (!error) error = create();
  if (!error) error = run_phase(&phases[0], -1, instructions);
  for (int i = 0; !error && i < MIXES * SKEWS; i++) {
    plan_ranks(i % SKEWS);
    error = run_phase(&phases[1 + i], written_percent[i / SKEWS], instructions);
  }
  return error ? error : lunar_unmount(&db);
}

const char* ycsb_mode_name(enum lunar_mode mode) { return mode == LUNAR_MODE_FULL ? "full" : "metadata"; }
