/* The machine-dependent functions of firmware.c. */
#ifndef LUNAR_BOARD_H
#define LUNAR_BOARD_H

#include "lunar.h"

void board_print(const char* text);
/* Returns a count of executed instructions, modulo 2^64; only differences have a meaning. */
uint64_t board_instructions(void);
/* Sets the block device's callbacks, context, sector_bytes and sector_count. Returns 0, or -1 without a device. */
int board_disk(struct lunar_config* config);

#endif
