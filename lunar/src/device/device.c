/* All requests to the device. A sector outside the device is E_CORRUPT, because only a damaged volume names one.
 *
 * After a failed write or flush the medium's content is unknown. Repeating the request proves nothing: a flush that
 * succeeds later may have lost the earlier data. So the failure ends the handle (LN_BROKEN), and the next mount uses
 * what the device has.
 */
#include "device.h"

static int outside(const struct lunar* db, uint32_t sector, uint32_t count) {
  return count > db->config->sector_count || sector > db->config->sector_count - count;
}

/* Called after each request. failed: result of the driver; not 0: records the request as failed. Calls config.progress.
 * If that stops lunar_check, this request and all further ones of the check return E_STOPPED. Otherwise returns 0, or
 * E_IO for a failed request. */
static LN_APART int answered(struct lunar* db, int failed, enum lunar_request request, uint32_t sector) {
  const struct lunar_config* c = db->config;
  int error = 0;
  if (failed) {
    db->failed_request = (uint8_t)request;
    db->failed_sector = sector;
    db->doubtful = 1;
    if (request != LUNAR_REQUEST_READ) db->state = LN_BROKEN;
    error = LUNAR_E_IO;
  }
  const int stops = c->progress && c->progress(c);
#if LUNAR_WITH_CHECK
  if (stops && db->checking) db->checking = LN_STOPPED;
  if (db->checking == LN_STOPPED) error = LUNAR_E_STOPPED;
#else
  (void)stops;
#endif
  return error;
}

int ln_device_read(struct lunar* db, uint32_t sector, void* data, uint32_t count) {
  LUNAR_ASSERT(db->config && (data || count == 0));
  if (outside(db, sector, count)) return LUNAR_E_CORRUPT;
  LN_COUNT(db->reads, 1);
  LN_COUNT(db->sectors_read, count);
  const struct lunar_config* c = db->config;
  int error, again = 0;
#if LUNAR_WITH_REPAIR
  const uint32_t before = db->failed_sector;
  again = db->building || db->redoing & LN_SKIPPING; /* a sector is given up after two failed reads */
#endif
  do error = answered(db, c->read(c, sector, data, count), LUNAR_REQUEST_READ, sector);
  while (error == LUNAR_E_IO && again--);
#if LUNAR_WITH_REPAIR
  if (error == LUNAR_E_IO && count == 1 && db->redoing & LN_SKIPPING) db->redoing |= LN_MISSED;
  if (db->redoing & LN_SKIPPING && (!error || count > 1)) db->failed_sector = before; /* next, each is read alone */
  if (!error && db->redoing & LN_MISSED && before - sector < count) db->redoing |= LN_FOUND;
#endif
  return error;
}

int ln_device_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count) {
  LUNAR_ASSERT(db->config && (data || count == 0));
  LUNAR_ASSERT(db->state != LN_BROKEN && !db->checking);
  if (outside(db, sector, count)) return LUNAR_E_CORRUPT;
#if LUNAR_WITH_REPAIR
  if (db->failed_sector - sector < count) db->redoing &= (uint8_t)~LN_MISSED; /* the write may make it readable */
#endif
  db->unsynced = 1;
  LN_COUNT(db->writes, 1);
  LN_COUNT(db->sectors_written, count);
  return answered(db, db->config->write(db->config, sector, data, count), LUNAR_REQUEST_WRITE, sector);
}

int ln_device_sync(struct lunar* db) {
  LUNAR_ASSERT(db->config);
  LUNAR_ASSERT(db->state != LN_BROKEN);
  if (!db->unsynced) return 0;
  LN_COUNT(db->flushes, 1);
  LN_TRY(answered(db, db->config->sync(db->config), LUNAR_REQUEST_SYNC, 0));
  db->unsynced = 0;
  db->flushed = db->committed;
  return 0;
}
