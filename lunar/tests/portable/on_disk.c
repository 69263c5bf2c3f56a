#include "on_disk.h"

#include "lines.h"
#include "portable_tests.h"
#include "ycsb.h"

enum { YCSB_BUFFER_BYTES = 64 * 1024 };

static void* buffer[YCSB_BUFFER_BYTES / sizeof(void*)];

static int run_tests(const struct lunar_config* disk, void (*print)(const char* text)) {
  struct lunar_config config = *disk;
  config.buffer = buffer, config.buffer_bytes = LUNAR_BUFFER_BYTES_MIN(config.sector_bytes);
  return lunar_portable_tests(&config, print);
}

static int run_ycsb(const struct lunar_config* disk, enum lunar_mode mode, void (*print)(const char* text)) {
  struct ycsb_phase phases[YCSB_PHASES];
  struct lunar_config config = *disk;
  config.buffer = buffer, config.buffer_bytes = sizeof buffer;
  print("mode "), print_left(print, ycsb_mode_name(mode), 9);
  print("   operations   sectors read   written   flushes\n");
  const int error = ycsb_run(&config, mode, NULL, phases);
  for (int i = 0; i < YCSB_PHASES; i++) {
    print_left(print, phases[i].name, 14);
    print_integer(print, phases[i].operations, 13);
    print_ratio(print, phases[i].sectors_read, phases[i].operations, 15);
    print_ratio(print, phases[i].sectors_written, phases[i].operations, 10);
    print_ratio(print, phases[i].flushes, phases[i].operations, 10);
    print("\n");
  }
  if (error) print("failed: "), print(lunar_error_text(error)), print("\n");
  return error != 0;
}

int run_on_disk(const struct lunar_config* disk, void (*print)(const char* text)) {
  print("== tests\n");
  int failures = run_tests(disk, print);
  print("== YCSB on the disk, per operation, with a buffer of "), print_integer(print, YCSB_BUFFER_BYTES, 0);
  print(" bytes\n");
  failures += run_ycsb(disk, LUNAR_MODE_FULL, print);
  return failures + run_ycsb(disk, LUNAR_MODE_METADATA, print);
}
