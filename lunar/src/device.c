/* The one way to the device. A sector outside it can only come from a damaged volume. */
#include "internal.h"

static int outside(const struct lunar* db, uint32_t sector, uint32_t count) {
  return count > db->config->sector_count || sector > db->config->sector_count - count;
}

int ln_device_read(struct lunar* db, uint32_t sector, void* data, uint32_t count) {
  if (outside(db, sector, count)) return LUNAR_E_CORRUPT;
  db->reads++, db->sectors_read += count;
  return db->config->read(db->config, sector, data, count) ? LUNAR_E_IO : 0;
}

int ln_device_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count) {
  if (outside(db, sector, count)) return LUNAR_E_CORRUPT;
  db->unsynced = 1;
  ln_prefetch_forget(db, sector, count);
  db->writes++, db->sectors_written += count;
  return db->config->write(db->config, sector, data, count) ? LUNAR_E_IO : 0;
}

int ln_device_sync(struct lunar* db) {
  if (!db->unsynced) return 0;
  db->flushes++;
  if (db->config->sync(db->config)) return LUNAR_E_IO;
  db->unsynced = 0;
  return 0;
}
