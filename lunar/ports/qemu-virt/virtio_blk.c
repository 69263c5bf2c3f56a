#include "virtio_blk.h"

#include <string.h>

enum { /* registers, by their offset */
       MAGIC = 0x00,
       VERSION = 0x04,
       DEVICE = 0x08,
       DEVICE_FEATURES = 0x10,
       DEVICE_FEATURES_SELECT = 0x14,
       DRIVER_FEATURES = 0x20,
       DRIVER_FEATURES_SELECT = 0x24,
       LEGACY_PAGE_BYTES = 0x28,
       QUEUE_SELECT = 0x30,
       QUEUE_MAX = 0x34,
       QUEUE_SIZE = 0x38,
       LEGACY_QUEUE_ALIGNMENT = 0x3c,
       LEGACY_QUEUE_PAGE = 0x40,
       QUEUE_READY = 0x44,
       QUEUE_NOTIFY = 0x50,
       INTERRUPT_STATUS = 0x60,
       INTERRUPT_ACKNOWLEDGE = 0x64,
       STATUS = 0x70,
       QUEUE_DESCRIPTORS = 0x80,
       QUEUE_AVAILABLE = 0x90,
       QUEUE_USED = 0xa0,
       CAPACITY = 0x100
};
enum { MAGIC_VALUE = 0x74726976, BLOCK_DEVICE = 2, LEGACY = 1, PAGE = 4096, UNIT = 512 };
enum { ACKNOWLEDGE = 1, DRIVER = 2, DRIVER_OK = 4, FEATURES_OK = 8 };
enum { FEATURE_FLUSH = 1 << 9, FEATURE_VERSION_1 = 1 /* of the second word */ };
enum { NEXT = 1, DEVICE_WRITES = 2 };
enum { READ = 0, WRITE = 1, FLUSH = 4 };

_Static_assert(sizeof(struct virtio_blk_descriptor) == 16 && sizeof(struct virtio_blk_used) >= 6 + 8 * VIRTIO_BLK_QUEUE,
               "the device's layout");
_Static_assert(offsetof(struct virtio_blk, queue.used) % PAGE == 0, "a legacy device looks for it there");

static volatile uint32_t* at(uintptr_t base, uint32_t offset) { return (volatile uint32_t*)(base + offset); }

static void set_address(uintptr_t base, uint32_t offset, const void* address) {
  *at(base, offset) = (uint32_t)(uintptr_t)address;
  *at(base, offset + 4) = (uint32_t)((uint64_t)(uintptr_t)address >> 32);
}

uintptr_t virtio_blk_find(uintptr_t first, uint32_t slots) {
  for (uintptr_t base = first; slots--; base += PAGE)
    if (*at(base, MAGIC) == MAGIC_VALUE && *at(base, DEVICE) == BLOCK_DEVICE) return base;
  return 0;
}

static int agree_on_features(struct virtio_blk* disk, uint32_t version) {
  const uintptr_t base = disk->base;
  *at(base, DEVICE_FEATURES_SELECT) = 0;
  const uint32_t features = *at(base, DEVICE_FEATURES) & FEATURE_FLUSH;
  disk->has_flush = features != 0;
  *at(base, DRIVER_FEATURES_SELECT) = 0;
  *at(base, DRIVER_FEATURES) = features;
  if (version == LEGACY) return 0;
  *at(base, DRIVER_FEATURES_SELECT) = 1;
  *at(base, DRIVER_FEATURES) = FEATURE_VERSION_1;
  *at(base, STATUS) = ACKNOWLEDGE | DRIVER | FEATURES_OK;
  return *at(base, STATUS) & FEATURES_OK ? 0 : -1;
}

static int give_queue(struct virtio_blk* disk, uint32_t version) {
  const uintptr_t base = disk->base;
  *at(base, QUEUE_SELECT) = 0;
  if (*at(base, QUEUE_MAX) < VIRTIO_BLK_QUEUE) return -1;
  *at(base, QUEUE_SIZE) = VIRTIO_BLK_QUEUE;
  if (version == LEGACY) {
    *at(base, LEGACY_PAGE_BYTES) = PAGE;
    *at(base, LEGACY_QUEUE_ALIGNMENT) = PAGE;
    *at(base, LEGACY_QUEUE_PAGE) = (uint32_t)((uintptr_t)&disk->queue / PAGE);
    return 0;
  }
  set_address(base, QUEUE_DESCRIPTORS, disk->queue.descriptors);
  set_address(base, QUEUE_AVAILABLE, &disk->queue.available);
  set_address(base, QUEUE_USED, &disk->queue.used);
  *at(base, QUEUE_READY) = 1;
  return 0;
}

/* One request, until the device has done it. */
static int request(struct virtio_blk* disk, uint32_t type, uint64_t unit, void* data, uint32_t bytes) {
  struct virtio_blk_descriptor* d = disk->queue.descriptors;
  volatile uint8_t* status = &disk->status;
  const volatile uint16_t* used = &disk->queue.used.index;
  disk->request.type = type, disk->request.sector = unit;
  *status = 0xff;
  d[0] = (struct virtio_blk_descriptor){(uintptr_t)&disk->request, sizeof disk->request, NEXT, bytes ? 1 : 2};
  d[1] = (struct virtio_blk_descriptor){(uintptr_t)data, bytes, type == READ ? NEXT | DEVICE_WRITES : NEXT, 2};
  d[2] = (struct virtio_blk_descriptor){(uintptr_t)status, 1, DEVICE_WRITES, 0};
  disk->queue.available.ring[disk->queue.available.index % VIRTIO_BLK_QUEUE] = 0;
  __sync_synchronize();
  disk->queue.available.index++;
  __sync_synchronize();
  *at(disk->base, QUEUE_NOTIFY) = 0;
  while (*used == disk->used_seen)
    if (disk->wait) disk->wait();
  disk->used_seen = *used;
  __sync_synchronize();
  *at(disk->base, INTERRUPT_ACKNOWLEDGE) = *at(disk->base, INTERRUPT_STATUS);
  return *status ? -1 : 0;
}

static int transfer(const struct lunar_config* config, uint32_t type, uint32_t sector, void* data, uint32_t count) {
  return request(config->context, type, (uint64_t)sector * (config->sector_bytes / UNIT), data,
                 count * config->sector_bytes);
}

static int read_sectors(const struct lunar_config* config, uint32_t sector, void* data, uint32_t count) {
  return transfer(config, READ, sector, data, count);
}

static int write_sectors(const struct lunar_config* config, uint32_t sector, const void* data, uint32_t count) {
  return transfer(config, WRITE, sector, (void*)(uintptr_t)data, count);
}

/* A device without the feature has no cache that could be lost. */
static int sync_device(const struct lunar_config* config) {
  struct virtio_blk* disk = config->context;
  return disk->has_flush ? request(disk, FLUSH, 0, NULL, 0) : 0;
}

int virtio_blk_open(struct virtio_blk* disk, struct lunar_config* config, uintptr_t base, void (*wait)(void)) {
  if (!base) return -1;
  const uint32_t version = *at(base, VERSION);
  memset(disk, 0, sizeof *disk);
  disk->base = base, disk->wait = wait;
  *at(base, STATUS) = 0;
  *at(base, STATUS) = ACKNOWLEDGE;
  *at(base, STATUS) = ACKNOWLEDGE | DRIVER;
  if (agree_on_features(disk, version) || give_queue(disk, version)) return -1;
  *at(base, STATUS) =
      version == LEGACY ? ACKNOWLEDGE | DRIVER | DRIVER_OK : ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK;
  const uint64_t units = (uint64_t)*at(base, CAPACITY + 4) << 32 | *at(base, CAPACITY);
  const uint64_t sectors = units / (config->sector_bytes / UNIT);
  config->context = disk, config->mounted = &disk->mounted;
  config->read = read_sectors, config->write = write_sectors, config->sync = sync_device;
  config->sector_count = sectors > UINT32_MAX ? UINT32_MAX : (uint32_t)sectors;
  return 0;
}
