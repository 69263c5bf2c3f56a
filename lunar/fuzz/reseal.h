/* Checksums of a damaged image made right again, so that what reads it gets behind them. */
#ifndef LUNAR_FUZZ_RESEAL_H
#define LUNAR_FUZZ_RESEAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sealed { SEALED_NOT = 0, SEALED_PAGE = 1, SEALED_GROUP = 2, SEALED_SUPER = 3 };

/* By which checksum the sector of a sound image (sectors of 512 bytes) is covered: its own, as a page, a group or
 * SUPER. */
enum sealed sealed_as(const uint8_t* image, uint32_t sectors, uint32_t sector);
void reseal(uint8_t* image, uint32_t sectors, uint32_t sector, enum sealed as);

#ifdef __cplusplus
}
#endif
#endif
