/* Reads ahead when rows are read in the order of their places. This begins with the fifth consecutive request: one that
 * starts where the request before it ended, or a few sectors later (a row was deleted there). The window doubles as
 * long as the requests are consecutive (the adaptive sizes of C. Ji et al., ACM TOS 16(4), 2020, which the paper's
 * prefetcher follows).
 *
 * For a row that is read by its key, nothing is read ahead: ln_prefetch reads only the row's own sectors, with one
 * request, if the next slot shows where the row ends.
 */
#include "pages.h"

#if LUNAR_WITH_PREFETCH

enum { STREAK = 4, GAP_MAX = 4, WINDOW_MIN = 2, ROW_SECTORS_MAX = 16 };

static uint32_t sector_bytes(const struct lunar* db) { return db->config->sector_bytes; }

/* Returns how many sectors of the buffer are used for reading ahead; 0 if the buffer is small. */
uint32_t ln_prefetch_sectors(const struct lunar_config* config) {
  const size_t sectors = config->buffer_bytes / 16 / config->sector_bytes, max = 64 * 1024 / config->sector_bytes;
  if (sectors < 2) return 0;
  return (uint32_t)(sectors < max ? sectors : max);
}

void ln_ahead_forget(struct lunar* db, uint32_t sector, uint32_t count) {
  LUNAR_ASSERT(count > 0);
  if (sector < db->ahead_sector + db->ahead_count && db->ahead_sector < sector + count) db->ahead_count = 0;
}

/* Copies the first of the `count` sectors from those read ahead, up to the first one that was not. Returns how many
 * sectors it has copied. */
static uint32_t taken(struct lunar* db, uint32_t sector, void* data, uint32_t count) {
  LUNAR_ASSERT(db->ahead_count <= db->ahead_max);
  const uint32_t at = sector - db->ahead_sector;
  if (at >= db->ahead_count) return 0;
  const uint32_t n = count < db->ahead_count - at ? count : db->ahead_count - at;
  memcpy(data, db->ahead + (size_t)at * sector_bytes(db), (size_t)n * sector_bytes(db));
  return n;
}

/* Counts consecutive requests in ahead_streak. */
static void follow(struct lunar* db, uint32_t sector, uint32_t count) {
  const int goes_on = sector - db->ahead_next <= GAP_MAX;
  db->ahead_next = sector + count;
  if (!goes_on) {
    db->ahead_streak = 0;
    db->ahead_window = WINDOW_MIN;
  } else if (db->ahead_streak < STREAK) {
    db->ahead_streak++;
  }
}

/* Reads a window ahead, from this sector on. */
static int fill(struct lunar* db, uint32_t sector) {
  LUNAR_ASSERT(sector < db->config->sector_count && db->ahead_max > 0);
  const uint32_t left = db->config->sector_count - sector;
  const uint32_t window = db->ahead_window < db->ahead_max ? db->ahead_window : db->ahead_max;
  const uint32_t n = window < left ? window : left;
  db->ahead_count = 0;
  LN_TRY(ln_device_read(db, sector, db->ahead, n));
  db->ahead_sector = sector;
  db->ahead_count = (uint16_t)n;
  db->ahead_window = (uint16_t)(2 * window);
  return 0;
}

int ln_read_ahead(struct lunar* db, uint32_t sector, void* data, uint32_t count) {
  follow(db, sector, count);
  uint8_t* to = data;
  const uint32_t there = taken(db, sector, to, count);
  to += (size_t)there * sector_bytes(db);
  sector += there;
  count -= there;
  if (count == 0) return 0;
  if (db->ahead_streak < STREAK || count >= db->ahead_max || sector >= db->config->sector_count)
    return ln_device_read(db, sector, to, count);
  while (db->ahead_window < count) db->ahead_window = (uint16_t)(2 * db->ahead_window);
  if (fill(db, sector)) return ln_device_read(db, sector, to, count); /* sectors behind these may be the bad ones */
  const uint32_t n = taken(db, sector, to, count);
  return n == count ? 0 : ln_device_read(db, sector + n, to + (size_t)n * sector_bytes(db), count - n);
}

/* Ignores errors, because the unreadable sector may not belong to the row. The reader of the row reads it again. */
void ln_prefetch(struct lunar* db, uint32_t sector, uint32_t count) {
  const int scans = db->ahead_streak == STREAK && sector == db->ahead_next;
  if (count < 2 || count > ROW_SECTORS_MAX || count > db->ahead_max || scans ||
      sector - db->ahead_sector < db->ahead_count || ln_cached(db, sector))
    return;
  db->ahead_count = 0;
  if (ln_device_read(db, sector, db->ahead, count)) return;
  db->ahead_sector = sector;
  db->ahead_count = (uint16_t)count;
}

#endif
