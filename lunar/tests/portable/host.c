/* The machine-independent part of firmware.c on the host, over a simulated device or the file in its argument. */
#include <stdio.h>

#include "emubd.h"
#include "on_disk.h"
#include "posix.h"
#include "ycsb.h"

static void print(const char* text) { fputs(text, stdout); }

int main(int argc, char** argv) {
  struct lunar_config config = {.sector_bytes = 512};
  struct lunar_posix file;
  struct emubd device;
  if (argc > 1 ? lunar_posix_open(&file, &config, argv[1], 0) : emubd_open(&device, 512, YCSB_SECTORS)) {
    perror(argc > 1 ? argv[1] : "simulated device");
    return 2;
  }
  if (argc == 1) emubd_config(&device, &config);
  if (config.sector_count < YCSB_SECTORS) {
    fprintf(stderr, "%s: expected a file of at least %d bytes\n", argv[1], YCSB_SECTORS * 512);
    return 2;
  }
  const int failures = run_on_disk(&config, print);
  if (argc > 1)
    lunar_posix_close(&file);
  else
    emubd_close(&device);
  return failures != 0;
}
