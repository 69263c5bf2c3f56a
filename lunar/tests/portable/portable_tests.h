/* The tests that run wherever lunar does: on the host, in an emulator, on a board. They need lunar.h, modules.h, the
 * functions of string.h and some 20 KiB of static RAM, and print the same lines everywhere.
 */
#ifndef LUNAR_PORTABLE_TESTS_H
#define LUNAR_PORTABLE_TESTS_H

#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs every test on the device; what was on it is lost. device: callbacks, sector_bytes, a sector_count of at least
 * PORTABLE_SECTORS, and a buffer; the tests choose mode and sizes. print gets whole lines with their newline.
 * Returns how many tests failed. */
int lunar_portable_tests(const struct lunar_config* device, void (*print)(const char* text));

enum { PORTABLE_SECTORS = 2048 };

#ifdef __cplusplus
}
#endif
#endif
