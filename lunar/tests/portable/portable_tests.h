/* Tests for every machine that runs lunar: host, emulator, board. They need lunar.h, modules.h, string.h and some 20
 * KiB of static RAM, and print the same lines everywhere.
 */
#ifndef LUNAR_PORTABLE_TESTS_H
#define LUNAR_PORTABLE_TESTS_H

#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs every test on the device and overwrites its content. device: callbacks, sector_bytes, a sector_count of at least
 * PORTABLE_SECTORS, and a buffer; the tests choose mode and sizes. print receives whole lines with their newline.
 * Returns the number of failed tests. */
int lunar_portable_tests(const struct lunar_config* device, void (*print)(const char* text));

enum { PORTABLE_SECTORS = 2048 };

#ifdef __cplusplus
}
#endif
#endif
