/* A block device of RT-Thread as lunar's device: an SD card ("sd0"), an eMMC, an SPI flash under the block layer. */
#ifndef LUNAR_RTTHREAD_H
#define LUNAR_RTTHREAD_H

#include <rtthread.h>

#include "lunar.h"

struct lunar_rtthread {
  rt_device_t device;
  struct rt_mutex mutex;
  struct lunar* mounted;
  rt_bool_t sync_refused; /* the driver knows no RT_DEVICE_CTRL_BLK_SYNC */
};

/* Opens the device of this name for config: sets its callbacks, lock included, context, sector_bytes and sector_count.
 * port stays where it is until lunar_rtthread_close. RT_EOK; -RT_ERROR: no such device, it is no block device, or its
 * sectors have neither 512 nor 4096 bytes; or what opening or asking it gave. */
rt_err_t lunar_rtthread_open(struct lunar_rtthread* port, struct lunar_config* config, const char* name);
/* After lunar_unmount. */
void lunar_rtthread_close(struct lunar_rtthread* port);

#endif
