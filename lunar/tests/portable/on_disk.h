/* Prints the same lines on every machine with a disk: the portable tests, and YCSB's sectors and flushes.
 */
#ifndef LUNAR_ON_DISK_H
#define LUNAR_ON_DISK_H

#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* disk: callbacks and at least YCSB_SECTORS sectors of 512 bytes. Overwrites its content. Returns the number of failed
 * parts. */
int run_on_disk(const struct lunar_config* disk, void (*print)(const char* text));

#ifdef __cplusplus
}
#endif
#endif
