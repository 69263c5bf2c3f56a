/* A virtio block device over MMIO (Virtual I/O Device 1.1: 4.2 the registers, 2.6 the queue, 5.2 the device), legacy
 * (version 1) and modern (version 2), as lunar's device. One request at a time, of any number of sectors.
 *
 * | field | unit | |
 * |---|---|---|
 * | base | address | of the registers; virtio_blk_find searches slots of 4096 bytes |
 * | sector_bytes | bytes | of lunar: 512 or 4096; the device's own unit is always 512 |
 * | wait | | called while the device works: waits for an interrupt, or NULL: the queue is polled |
 */
#ifndef LUNAR_VIRTIO_BLK_H
#define LUNAR_VIRTIO_BLK_H

#include "lunar.h"

enum { VIRTIO_BLK_QUEUE = 4 };

struct virtio_blk_descriptor {
  uint64_t address;
  uint32_t bytes;
  uint16_t flags, next;
};
struct virtio_blk_available {
  uint16_t flags, index, ring[VIRTIO_BLK_QUEUE], event;
};
struct virtio_blk_used {
  uint16_t flags, index;
  struct {
    uint32_t id, bytes;
  } ring[VIRTIO_BLK_QUEUE];
  uint16_t event;
};

struct virtio_blk {
  /* What the device reads and writes. A legacy device finds used at the next page. */
  struct {
    struct virtio_blk_descriptor descriptors[VIRTIO_BLK_QUEUE];
    struct virtio_blk_available available;
    _Alignas(4096) struct virtio_blk_used used;
  } queue;
  struct {
    uint32_t type, reserved;
    uint64_t sector;
  } request;
  uint8_t status;
  /* The driver's own. */
  uintptr_t base;
  void (*wait)(void);
  struct lunar* mounted;
  uint16_t used_seen;
  uint8_t has_flush;
};

/* The first block device among the slots. 0: none. */
uintptr_t virtio_blk_find(uintptr_t first, uint32_t slots);
/* Starts the device and sets callbacks, context and sector_count of config, whose sector_bytes the caller has set. The
 * driver must stay where it is. 0, or -1: no such device, or it accepts no driver of this kind. */
LUNAR_MUST_CHECK int virtio_blk_open(struct virtio_blk* disk, struct lunar_config* config, uintptr_t base,
                                     void (*wait)(void));

#endif
