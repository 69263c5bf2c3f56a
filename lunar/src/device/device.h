/* The lowest room: requests to the device, checksums, and what every room uses. */
#ifndef LUNAR_DEVICE_H
#define LUNAR_DEVICE_H

#include <string.h>

#include "../format.h"
#include "../modules.h"
#include "checksum.h"

#define LN_TRY(call)                   \
  do {                                 \
    const int ln_error = (call);       \
    if (ln_error < 0) return ln_error; \
  } while (0)

/* A function whose frame is not to be part of its caller's: what the caller calls next goes deep. */
#ifdef __GNUC__
#define LN_APART __attribute__((noinline))
#else
#define LN_APART
#endif

enum ln_checking { LN_CHECKING = 1, LN_STOPPED = 2 }; /* lunar_check; the program stops it */

/* What redoing has in a recovery; in that of a mount which takes an unreadable sector for the end; where pages in place
 * may be later than the last group that recovery has, so that every table is to be repaired; as long as the last group
 * that recovery has is the checkpoint of an unmount; since a sector could not be read; and since it could be read after
 * all. */
enum { LN_REDOING = 1, LN_SKIPPING = 2, LN_STALE = 4, LN_ENDED = 8, LN_MISSED = 16, LN_FOUND = 32 };
/* A recovery repeats operations from which pages in place may have changes already. */
#define LN_IS_STALE(db) (LUNAR_WITH_REPAIR && (db)->redoing & LN_STALE)

enum ln_state { LN_CLOSED = 0, LN_READY = 1, LN_IN_TXN = 2, LN_BROKEN = 3, LN_TXN_LOST = 4 };

/* E_INVALID; *why becomes the reason, where a build has texts. */
#if LUNAR_WITH_TEXTS
static inline int ln_refuse(const char** why, const char* reason) {
  *why = reason;
  return LUNAR_E_INVALID;
}
/* Passes the error on; after E_INVALID lunar_invalid_argument returns the text. */
static inline int ln_argument(struct lunar* db, int error, const char* which) {
  if (error == LUNAR_E_INVALID) db->invalid = which;
  return error;
}
#else
#define ln_refuse(why, reason) ((void)(why), LUNAR_E_INVALID)
#define ln_argument(db, error, which) (error)
#endif

#if LUNAR_WITH_STAT
#define LN_COUNT(counter, count) ((void)((counter) += (count)))
#else
#define LN_COUNT(counter, count) ((void)0)
#endif

/* device.c: the device, with arguments checked and failures as E_IO. */
int ln_device_read(struct lunar* db, uint32_t sector, void* data, uint32_t count);
int ln_device_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count);
int ln_device_sync(struct lunar* db);

#endif
