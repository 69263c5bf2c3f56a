/* One operation at a time: from ln_enter to ln_leave a call has the volume to itself, and holds the lock if the
 * configuration has one. */
#include "tables.h"

#if LUNAR_DEBUG
/* Returns 1 if the configuration is still that of the mount, as far as the handle can compare it. */
static int is_as_mounted(const struct lunar* db) {
  const struct lunar_config* c = db->config;
  const struct lunar_geometry* g = &db->geometry;
  const uintptr_t frames = (uintptr_t)db->frames - (uintptr_t)db->stage;
  const uint32_t end = g->data_at + g->chunk_count * g->chunk_sectors;
  const enum lunar_mode mode = c->mode ? c->mode : LUNAR_MODE_METADATA;
  /* During lunar_unmount the mode is full, whatever the configuration says. */
  return c->read && c->write && c->sync && !c->lock == !c->unlock && c->buffer == db->stage &&
         (c->sector_bytes == 512 || c->sector_bytes == 4096) && frames % c->sector_bytes == 0 &&
         frames + db->frame_count * sizeof *db->frames <= c->buffer_bytes && c->sector_count >= end &&
         (db->mode == mode || db->mode == LUNAR_MODE_FULL);
}

/* Asserts what holds between two operations of a handle that has the volume mounted. */
static void check_invariants(struct lunar* db) {
  LUNAR_ASSERT(db->state <= LN_TXN_LOST);
  if (db->state == LN_CLOSED || *db->holder != db) return;
  LUNAR_ASSERT(is_as_mounted(db));
  ln_frames_check(db, 0);
  LUNAR_ASSERT(db->allocated_count <= LUNAR_ALLOCATED);
  if (db->state == LN_BROKEN) return; /* the failure may have left the log inconsistent */
  LUNAR_ASSERT(!db->redoing);
  LUNAR_ASSERT(db->log_before <= db->series.log_used);
  ln_log_check(db);
}
#else
#define check_invariants(db) ((void)0)
#endif

int ln_lock(struct lunar* db) {
  if (!db || !db->config) return LUNAR_E_INVALID;
  if (db->config->lock) db->config->lock(db->config);
  ln_operation_begins(db);
  db->changing = 0;
  db->many_pages = 0;
  ln_buffer_operation(db);
  if (db->state == LN_CLOSED) return ln_argument(db, LUNAR_E_INVALID, "db");
  if (*db->holder != db) return LUNAR_E_BUSY;
  check_invariants(db); /* the program may have changed the buffer or the configuration since the last operation */
  return db->state == LN_BROKEN ? LUNAR_E_FAILED : 0;
}

int ln_enter_for_commit(struct lunar* db) {
  const int error = ln_lock(db);
  return error && db && db->config ? ln_leave(db, error) : error;
}

int ln_enter(struct lunar* db) {
  LN_TRY(ln_enter_for_commit(db));
  const int error = db->state == LN_TXN_LOST ? LUNAR_E_TXN : ln_same_volume(db, NULL);
  return error ? ln_leave(db, error) : 0;
}

int ln_leave(struct lunar* db, int error) {
  LUNAR_ASSERT(db && db->config);
  if (error == LUNAR_E_CORRUPT) { /* the cause may be another card, if a read failed before */
    const int other = ln_same_volume(db, NULL);
    if (other < 0) error = other;
  }
  LUNAR_ASSERT(error || db->state != LN_BROKEN); /* the call that breaks the handle returns an error */
  check_invariants(db);
  if (db->config->unlock) db->config->unlock(db->config);
  return error;
}
