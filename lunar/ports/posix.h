/* A file, an image or a raw block device as lunar's device. */
#ifndef LUNAR_POSIX_H
#define LUNAR_POSIX_H

#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lunar_posix {
  int descriptor;
  int direct;   /* past the page cache: sectors at aligned addresses, others through bounce */
  void* bounce; /* 64 KiB, aligned */
  struct lunar* mounted;
  int is_cache_wrong; /* a flush failed, and the page cache keeps what may not be on the medium: every read fails */
};

/* Opens the path for config: sets its callbacks, context, mounted, and sector_count from the size (a multiple of
 * sector_bytes, which the caller has set). direct: past the page cache, where the file system can. 0, or an errno;
 * EWOULDBLOCK: it is open by this function already, in this process or another (flock), and two on one volume would
 * destroy it.
 *
 * After a flush that failed, reads return the medium's content: the pages of the file leave the page cache. Where they
 * cannot (another program has them mapped, a file system in RAM), every read fails until lunar_posix_close. */
LUNAR_MUST_CHECK int lunar_posix_open(struct lunar_posix* posix, struct lunar_config* config, const char* path,
                                      int direct);
void lunar_posix_close(struct lunar_posix* posix);

#ifdef __cplusplus
}
#endif
#endif
