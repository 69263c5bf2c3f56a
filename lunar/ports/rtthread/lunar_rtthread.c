#include "lunar_rtthread.h"

static int read_sectors(const struct lunar_config* config, uint32_t sector, void* data, uint32_t count) {
  const struct lunar_rtthread* port = config->context;
  return (uint32_t)rt_device_read(port->device, (rt_off_t)sector, data, count) == count ? 0 : -1;
}

static int write_sectors(const struct lunar_config* config, uint32_t sector, const void* data, uint32_t count) {
  const struct lunar_rtthread* port = config->context;
  return (uint32_t)rt_device_write(port->device, (rt_off_t)sector, data, count) == count ? 0 : -1;
}

/* A driver that knows no flush writes through, or loses rows at a power cut: README.md. */
static int sync_device(const struct lunar_config* config) {
  const struct lunar_rtthread* port = config->context;
  if (port->sync_refused) return 0;
  return rt_device_control(port->device, RT_DEVICE_CTRL_BLK_SYNC, RT_NULL) == RT_EOK ? 0 : -1;
}

static void lock(const struct lunar_config* config) {
  struct lunar_rtthread* port = config->context;
  rt_mutex_take(&port->mutex, RT_WAITING_FOREVER);
}

static void unlock(const struct lunar_config* config) {
  struct lunar_rtthread* port = config->context;
  rt_mutex_release(&port->mutex);
}

/* Whether the driver knows the command is learnt from its first answer; what else it may answer is a failure. */
static rt_err_t try_sync(struct lunar_rtthread* port) {
  const rt_err_t error = rt_device_control(port->device, RT_DEVICE_CTRL_BLK_SYNC, RT_NULL);
  port->sync_refused = error == -RT_ENOSYS || error == -RT_EINVAL ? RT_TRUE : RT_FALSE;
  return port->sync_refused ? RT_EOK : error;
}

static rt_err_t open_device(struct lunar_rtthread* port, struct rt_device_blk_geometry* geometry) {
  rt_err_t error = rt_device_open(port->device, RT_DEVICE_OFLAG_RDWR);
  if (error != RT_EOK) return error;
  error = rt_device_control(port->device, RT_DEVICE_CTRL_BLK_GETGEOME, geometry);
  if (error == RT_EOK && geometry->bytes_per_sector != 512 && geometry->bytes_per_sector != 4096) error = -RT_ERROR;
  if (error == RT_EOK) error = try_sync(port);
  if (error != RT_EOK) rt_device_close(port->device);
  return error;
}

rt_err_t lunar_rtthread_open(struct lunar_rtthread* port, struct lunar_config* config, const char* name) {
  struct rt_device_blk_geometry geometry = {0};
  port->device = rt_device_find(name);
  if (port->device == RT_NULL || port->device->type != RT_Device_Class_Block) return -RT_ERROR;
  const rt_err_t error = open_device(port, &geometry);
  if (error != RT_EOK) return error;
  rt_mutex_init(&port->mutex, "lunar", RT_IPC_FLAG_PRIO);
  port->mounted = RT_NULL;
  config->context = port, config->mounted = &port->mounted;
  config->read = read_sectors, config->write = write_sectors, config->sync = sync_device;
  config->lock = lock, config->unlock = unlock;
  config->sector_bytes = geometry.bytes_per_sector, config->sector_count = geometry.sector_count;
  return RT_EOK;
}

void lunar_rtthread_close(struct lunar_rtthread* port) {
  rt_mutex_detach(&port->mutex);
  rt_device_close(port->device);
}
