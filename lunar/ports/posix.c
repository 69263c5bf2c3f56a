#define _GNU_SOURCE /* O_DIRECT */
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#endif

enum { BOUNCE_BYTES = 64 * 1024, ALIGNMENT = 4096, WINDOW_PAGES = 4096, DROP_TRIES = 3 };

static int aligned(const struct lunar_posix* posix, const void* data, uint32_t sector_bytes) {
  return !posix->direct || (uintptr_t)data % sector_bytes == 0;
}

static int read_all(int descriptor, uint8_t* data, size_t bytes, off_t at) {
  while (bytes) {
    const ssize_t n = pread(descriptor, data, bytes, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    data += n, bytes -= (size_t)n, at += n;
  }
  return 0;
}

static int write_all(int descriptor, const uint8_t* data, size_t bytes, off_t at) {
  while (bytes) {
    const ssize_t n = pwrite(descriptor, data, bytes, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    data += n, bytes -= (size_t)n, at += n;
  }
  return 0;
}

static int read_sectors(const struct lunar_config* config, uint32_t sector, void* data, uint32_t count) {
  const struct lunar_posix* posix = config->context;
  uint8_t* to = data;
  size_t bytes = (size_t)count * config->sector_bytes;
  if (posix->is_cache_wrong) {
    errno = EIO;
    return -1;
  }
  off_t at = (off_t)sector * config->sector_bytes;
  if (aligned(posix, data, config->sector_bytes)) return read_all(posix->descriptor, to, bytes, at);
  for (size_t n; bytes; to += n, bytes -= n, at += (off_t)n) {
    n = bytes < BOUNCE_BYTES ? bytes : BOUNCE_BYTES;
    if (read_all(posix->descriptor, posix->bounce, n, at)) return -1;
    memcpy(to, posix->bounce, n);
  }
  return 0;
}

static int write_sectors(const struct lunar_config* config, uint32_t sector, const void* data, uint32_t count) {
  const struct lunar_posix* posix = config->context;
  const uint8_t* from = data;
  size_t bytes = (size_t)count * config->sector_bytes;
  off_t at = (off_t)sector * config->sector_bytes;
  if (aligned(posix, data, config->sector_bytes)) return write_all(posix->descriptor, from, bytes, at);
  for (size_t n; bytes; from += n, bytes -= n, at += (off_t)n) {
    n = bytes < BOUNCE_BYTES ? bytes : BOUNCE_BYTES;
    memcpy(posix->bounce, from, n);
    if (write_all(posix->descriptor, posix->bounce, n, at)) return -1;
  }
  return 0;
}

/* Whether the page cache has a page of the file, or cannot be asked. */
static int is_cached(int descriptor, off_t bytes) {
  unsigned char pages[WINDOW_PAGES];
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  int found = 0;
  for (off_t at = 0; at < bytes && !found; at += (off_t)(WINDOW_PAGES * page)) {
    const size_t n = bytes - at < (off_t)(WINDOW_PAGES * page) ? (size_t)(bytes - at) : WINDOW_PAGES * page;
    void* window = mmap(NULL, n, PROT_READ, MAP_SHARED, descriptor, at);
    if (window == MAP_FAILED) return 1;
    found = mincore(window, n, (void*)pages) != 0;
    for (size_t i = 0; i < (n + page - 1) / page && !found; i++) found = pages[i] & 1;
    munmap(window, n);
  }
  return found;
}

/* When fdatasync fails, Linux counts the pages that it could not write as clean: it goes on reading them, and no later
 * fdatasync writes them. So they leave the cache, and the next mount reads what the medium has. */
static int drop_cache(int descriptor, off_t bytes) {
#ifdef POSIX_FADV_DONTNEED
  for (int tries = 0; tries < DROP_TRIES; tries++) {
    if (posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0 && !is_cached(descriptor, bytes)) return 0;
    (void)fdatasync(descriptor); /* a page that is still dirty cannot leave the cache */
  }
#endif
  return -1;
}

static int sync_device(const struct lunar_config* config) {
  struct lunar_posix* posix = config->context;
  if (fdatasync(posix->descriptor) == 0) return 0;
  const int error = errno;
  if (drop_cache(posix->descriptor, (off_t)config->sector_count * config->sector_bytes)) posix->is_cache_wrong = 1;
  errno = error;
  return -1;
}

static int bytes_of(int descriptor, uint64_t* bytes) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return errno;
  *bytes = (uint64_t)status.st_size;
#ifdef BLKGETSIZE64
  if (S_ISBLK(status.st_mode) && ioctl(descriptor, BLKGETSIZE64, bytes) != 0) return errno;
#endif
  return 0;
}

int lunar_posix_open(struct lunar_posix* posix, struct lunar_config* config, const char* path, int direct) {
  uint64_t bytes = 0;
  *posix =
      (struct lunar_posix){.descriptor = open(path, O_RDWR | O_CLOEXEC | (direct ? O_DIRECT : 0)), .direct = direct};
  if (posix->descriptor < 0) return errno;
  int error = flock(posix->descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
  if (!error) error = bytes_of(posix->descriptor, &bytes);
  if (!error && direct) error = posix_memalign(&posix->bounce, ALIGNMENT, BOUNCE_BYTES);
  if (error) {
    close(posix->descriptor);
    return error;
  }
  const uint64_t sectors = bytes / config->sector_bytes;
  config->context = posix, config->mounted = &posix->mounted;
  config->read = read_sectors, config->write = write_sectors, config->sync = sync_device;
  config->sector_count = sectors > UINT32_MAX ? UINT32_MAX : (uint32_t)sectors;
  return 0;
}

void lunar_posix_close(struct lunar_posix* posix) {
  close(posix->descriptor);
  free(posix->bounce);
}
