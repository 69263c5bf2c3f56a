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

#if LUNAR_DEBUG
/* What holds between two operations of a handle that has the volume. */
static void check_invariants(struct lunar* db) {
  LUNAR_ASSERT(db->state <= LN_TXN_LOST);
  if (db->state == LN_CLOSED || *db->holder != db) return;
  ln_frames_check(db, 0);
  LUNAR_ASSERT(db->allocated_count <= LUNAR_ALLOCATED);
  if (db->state == LN_BROKEN) return; /* the log was left in the middle of something */
  LUNAR_ASSERT(!db->redoing);
  LUNAR_ASSERT(db->log_before <= db->series.log_used);
  ln_log_check(db);
}
#else
#define check_invariants(db) ((void)0)
#endif

int ln_leave(struct lunar* db, int error) {
  LUNAR_ASSERT(db && db->config);
  check_invariants(db);
  if (db->config->unlock) db->config->unlock(db->config);
  return error;
}
