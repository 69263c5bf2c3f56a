/* What firmware.c asks of the machine that it runs on. */
#ifndef LUNAR_BOARD_H
#define LUNAR_BOARD_H

#include "lunar.h"

void board_print(const char* text);
/* Instructions executed since some moment; differences count, modulo 2^64. */
uint64_t board_instructions(void);
/* The block device: sets callbacks, context, sector_bytes and sector_count. 0, or -1 when there is none. */
int board_disk(struct lunar_config* config);

#endif
