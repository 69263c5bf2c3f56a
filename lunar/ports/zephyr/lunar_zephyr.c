#include "lunar_zephyr.h"

#include <errno.h>
#if __has_include(<zephyr/storage/disk_access.h>)
#include <zephyr/storage/disk_access.h>
#else
#include <disk/disk_access.h>
#endif

static int read_sectors(const struct lunar_config* config, uint32_t sector, void* data, uint32_t count) {
  const struct lunar_zephyr* port = config->context;
  return disk_access_read(port->disk, data, sector, count);
}

static int write_sectors(const struct lunar_config* config, uint32_t sector, const void* data, uint32_t count) {
  const struct lunar_zephyr* port = config->context;
  return disk_access_write(port->disk, data, sector, count);
}

static int sync_device(const struct lunar_config* config) {
  const struct lunar_zephyr* port = config->context;
  return disk_access_ioctl(port->disk, DISK_IOCTL_CTRL_SYNC, NULL);
}

static void lock(const struct lunar_config* config) {
  struct lunar_zephyr* port = config->context;
  (void)k_mutex_lock(&port->mutex, K_FOREVER);
}

static void unlock(const struct lunar_config* config) {
  struct lunar_zephyr* port = config->context;
  (void)k_mutex_unlock(&port->mutex);
}

int lunar_zephyr_open(struct lunar_zephyr* port, struct lunar_config* config, const char* disk) {
  uint32_t sectors = 0, bytes = 0;
  int error = disk_access_init(disk);
  if (!error) error = disk_access_ioctl(disk, DISK_IOCTL_GET_SECTOR_COUNT, &sectors);
  if (!error) error = disk_access_ioctl(disk, DISK_IOCTL_GET_SECTOR_SIZE, &bytes);
  if (error) return error;
  if (bytes != 512 && bytes != 4096) return -ENOTSUP;
  port->disk = disk;
  error = k_mutex_init(&port->mutex);
  if (error) return error;
  port->mounted = NULL;
  config->context = port, config->mounted = &port->mounted;
  config->read = read_sectors, config->write = write_sectors, config->sync = sync_device;
  config->lock = lock, config->unlock = unlock;
  config->sector_bytes = bytes, config->sector_count = sectors;
  return 0;
}
