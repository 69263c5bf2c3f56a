/* The lowest room: requests to the device, checksums, and definitions that every room uses. */
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

/* Prevents inlining. Otherwise the function's local variables would use stack while its caller makes other, deep
 * calls. */
#ifdef __GNUC__
#define LN_APART __attribute__((noinline))
#else
#define LN_APART
#endif

/* db->checking; 0: no lunar_check is running. */
enum ln_checking {
  LN_CHECKING = 1, /* lunar_check is running */
  LN_STOPPED = 2   /* config.progress has stopped lunar_check */
};

/* Flags of db->redoing; 0: no recovery is running. */
enum {
  LN_REDOING = 1,  /* a recovery is running */
  LN_SKIPPING = 2, /* mount with config.skip_unreadable: an unreadable sector counts as the end of the log */
  LN_STALE = 4,    /* pages in place may be newer than the last group found: every table must be repaired */
  LN_ENDED = 8,    /* the last group found is the checkpoint of an unmount */
  LN_MISSED = 16,  /* sector failed_sector could not be read and was not written since */
  LN_FOUND = 32    /* a later read of that sector was successful */
};
/* True in a recovery that repeats operations whose changes may already be in the pages in place. */
#define LN_IS_STALE(db) (LUNAR_WITH_REPAIR && (db)->redoing & LN_STALE)

enum ln_state { LN_CLOSED = 0, LN_READY = 1, LN_IN_TXN = 2, LN_BROKEN = 3, LN_TXN_LOST = 4 };

/* Returns E_INVALID. A build with texts also sets *why to the reason. */
#if LUNAR_WITH_TEXTS
static inline int ln_refuse(const char** why, const char* reason) {
  *why = reason;
  return LUNAR_E_INVALID;
}
/* Returns `error`. For E_INVALID, lunar_invalid_argument returns `which` from then on. */
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

/* device.c: requests to the device. Return 0, E_IO after a failure, E_CORRUPT for sectors outside the device, or
 * E_STOPPED in a lunar_check that config.progress has stopped. */
int ln_device_read(struct lunar* db, uint32_t sector, void* data, uint32_t count);
int ln_device_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count);
int ln_device_sync(struct lunar* db);

#endif
