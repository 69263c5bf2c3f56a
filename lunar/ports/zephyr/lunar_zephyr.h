/* A disk of Zephyr as lunar's device: whatever is registered for disk access (an SD card, eMMC, flash, a RAM disk). */
#ifndef LUNAR_ZEPHYR_H
#define LUNAR_ZEPHYR_H

#if __has_include(<zephyr/kernel.h>)
#include <zephyr/kernel.h>
#else /* before Zephyr 3.1 */
#include <kernel.h>
#endif

#include "lunar.h"

struct lunar_zephyr {
  const char* disk;
  struct k_mutex mutex;
  struct lunar* mounted;
};

/* Initializes the disk of this name ("SD") for config: sets its callbacks, lock included, context, sector_bytes and
 * sector_count. port and disk stay where they are as long as config is used. 0, or a negative errno; -ENOTSUP: its
 * sectors have neither 512 nor 4096 bytes. */
int lunar_zephyr_open(struct lunar_zephyr* port, struct lunar_config* config, const char* disk);

#endif
