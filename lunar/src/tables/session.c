/* One operation at a time: who enters has the volume, and the lock where there is one, until it leaves. */
#include "tables.h"

int ln_lock(struct lunar* db) {
  if (!db || !db->config) return LUNAR_E_INVALID;
  if (db->config->lock) db->config->lock(db->config);
  db->allocated_count = 0;
  db->no_way_back = 0;
  db->changing = 0;
  ln_buffer_operation(db);
  if (db->state == LN_CLOSED) return LUNAR_E_INVALID;
  if (*db->holder != db) return LUNAR_E_BUSY;
  return db->state == LN_BROKEN ? LUNAR_E_FAILED : 0;
}

int ln_enter_for_commit(struct lunar* db) {
  const int error = ln_lock(db);
  return error && db && db->config ? ln_leave(db, error) : error;
}

int ln_enter(struct lunar* db) {
  LN_TRY(ln_enter_for_commit(db));
  return db->state == LN_TXN_LOST ? ln_leave(db, LUNAR_E_TXN) : 0;
}

int ln_leave(struct lunar* db, int error) {
  if (db->config->unlock) db->config->unlock(db->config);
  return error;
}
