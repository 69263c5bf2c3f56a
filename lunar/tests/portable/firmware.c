#include "firmware.h"

#include <string.h>

#include "board.h"
#include "lines.h"
#include "on_disk.h"
#include "ram_use.h"
#include "ycsb.h"

enum { SECTOR_BYTES = 512, YCSB_BUFFER_BYTES = 64 * 1024 };

static uint8_t ram[YCSB_SECTORS * SECTOR_BYTES];
static struct lunar* mounted;
static void* buffer[YCSB_BUFFER_BYTES / sizeof(void*)];

/* --- a RAM device --- */

static int ram_read(const struct lunar_config* c, uint32_t sector, void* data, uint32_t count) {
  (void)c;
  memcpy(data, ram + (size_t)sector * SECTOR_BYTES, (size_t)count * SECTOR_BYTES);
  return 0;
}

static int ram_write(const struct lunar_config* c, uint32_t sector, const void* data, uint32_t count) {
  (void)c;
  memcpy(ram + (size_t)sector * SECTOR_BYTES, data, (size_t)count * SECTOR_BYTES);
  return 0;
}

static int ram_sync(const struct lunar_config* c) {
  (void)c;
  return 0;
}

static struct lunar_config ram_device(void) {
  return (struct lunar_config){.read = ram_read,
                               .write = ram_write,
                               .sync = ram_sync,
                               .mounted = &mounted,
                               .sector_bytes = SECTOR_BYTES,
                               .sector_count = YCSB_SECTORS,
                               .buffer = buffer,
                               .buffer_bytes = sizeof buffer};
}

/* --- output --- */

static int failed(int error) {
  if (!error) return 0;
  board_print("failed: "), print_integer(board_print, error, 0), board_print(" "), board_print(lunar_error_text(error));
  board_print("\n");
  return 1;
}

static int print_ycsb_instructions(enum lunar_mode mode) {
  struct ycsb_phase phases[YCSB_PHASES];
  const struct lunar_config config = ram_device();
  board_print("mode "), print_left(board_print, ycsb_mode_name(mode), 9), board_print("   operations   instructions\n");
  const int error = ycsb_run(&config, mode, board_instructions, phases);
  for (int i = 0; i < YCSB_PHASES; i++) {
    print_left(board_print, phases[i].name, 14);
    print_integer(board_print, phases[i].operations, 13);
    print_integer(board_print, (int64_t)(phases[i].instructions / phases[i].operations), 15);
    board_print("\n");
  }
  return failed(error);
}

static void print_bytes(const char* what, uint32_t bytes) {
  print_left(board_print, what, 14), print_integer(board_print, bytes, 6), board_print("\n");
}

static int print_ram_use(void) {
  struct ram_use uses[RAM_USES];
  const struct lunar_config config = ram_device();
  uint32_t deepest = 0;
  const int error = measure_ram_use(&config, uses);
  for (int i = 0; i < RAM_USES; i++) {
    if (!uses[i].stack_bytes) continue;
    board_print("stack, "), print_left(board_print, uses[i].operation, 12);
    print_integer(board_print, uses[i].stack_bytes, 6), board_print("\n");
    if (uses[i].stack_bytes > deepest) deepest = uses[i].stack_bytes;
  }
  const uint32_t smallest = LUNAR_BUFFER_BYTES_MIN(SECTOR_BYTES);
  print_bytes("deepest stack", deepest), print_bytes("handle", sizeof(struct lunar));
  print_bytes("table", sizeof(struct lunar_table)), print_bytes("buffer", smallest);
  print_bytes("together", deepest + (uint32_t)(sizeof(struct lunar) + sizeof(struct lunar_table)) + smallest);
  return failed(error);
}

int firmware_main(void) {
  struct lunar_config disk = {0};
  if (board_disk(&disk)) {
    board_print("no disk\n");
    return 1;
  }
  int failures = run_on_disk(&disk, board_print);
  board_print("== YCSB over RAM, per operation, with the same buffer\n");
  failures += print_ycsb_instructions(LUNAR_MODE_FULL) + print_ycsb_instructions(LUNAR_MODE_METADATA);
  board_print("== bytes of RAM\n");
  failures += print_ram_use();
  board_print(failures ? "== failed\n" : "== done\n");
  return failures;
}
