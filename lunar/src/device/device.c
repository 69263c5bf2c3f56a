/* The one way to the device. A sector outside it can only come from a damaged volume.
 *
 * After a failed write or flush the medium's content is unknown, and a repetition proves nothing: a flush that
 * succeeds later may have lost the earlier data. So it ends the handle; the next mount decides.
 */
#include "device.h"

static int outside(const struct lunar* db, uint32_t sector, uint32_t count) {
  return count > db->config->sector_count || sector > db->config->sector_count - count;
}

static LN_APART int failed(struct lunar* db, enum lunar_request request, uint32_t sector) {
  db->failed_request = (uint8_t)request;
  db->failed_sector = sector;
  db->doubtful = 1;
  if (request != LUNAR_REQUEST_READ) db->state = LN_BROKEN;
  return LUNAR_E_IO;
}

int ln_device_read(struct lunar* db, uint32_t sector, void* data, uint32_t count) {
  LUNAR_ASSERT(db->config && (data || count == 0));
  if (outside(db, sector, count)) return LUNAR_E_CORRUPT;
  LN_COUNT(db->reads, 1);
  LN_COUNT(db->sectors_read, count);
  return db->config->read(db->config, sector, data, count) ? failed(db, LUNAR_REQUEST_READ, sector) : 0;
}

int ln_device_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count) {
  LUNAR_ASSERT(db->config && (data || count == 0));
  LUNAR_ASSERT(db->state != LN_BROKEN);
  if (outside(db, sector, count)) return LUNAR_E_CORRUPT;
  db->unsynced = 1;
  LN_COUNT(db->writes, 1);
  LN_COUNT(db->sectors_written, count);
  return db->config->write(db->config, sector, data, count) ? failed(db, LUNAR_REQUEST_WRITE, sector) : 0;
}

int ln_device_sync(struct lunar* db) {
  LUNAR_ASSERT(db->config);
  LUNAR_ASSERT(db->state != LN_BROKEN);
  if (!db->unsynced) return 0;
  LN_COUNT(db->flushes, 1);
  if (db->config->sync(db->config)) return failed(db, LUNAR_REQUEST_SYNC, 0);
  db->unsynced = 0;
  db->flushed = db->committed;
  return 0;
}
