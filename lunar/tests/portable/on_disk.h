/* What runs on a disk and prints the same lines on every machine: the portable tests, and YCSB's sectors and flushes.
 */
#ifndef LUNAR_ON_DISK_H
#define LUNAR_ON_DISK_H

#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* disk: callbacks, 512-byte sectors, at least YCSB_SECTORS of them; what is on it is lost. Returns how many parts
 * failed. */
int run_on_disk(const struct lunar_config* disk, void (*print)(const char* text));

#ifdef __cplusplus
}
#endif
#endif
