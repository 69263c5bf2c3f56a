/* Transactions. */
#include "api.h"

static int begin(struct lunar* db) {
  if (db->state == LN_IN_TXN) return LUNAR_E_TXN;
  if (db->mode == LUNAR_MODE_NONE) return LUNAR_E_UNSUPPORTED;
  LN_TRY(ln_reclaim_owed(db));
  LN_TRY(ln_stage_write(db, 0)); /* operations before the transaction must not share a group with it */
  LN_TRY(ln_make_room(db, 4));   /* leaves three quarters of the usable log to the transaction */
  db->state = LN_IN_TXN;
  db->parts = 0;
  return 0;
}

static int commit(struct lunar* db) {
  if (db->state != LN_IN_TXN) return LUNAR_E_TXN;
  int error = ln_same_volume(db, NULL);
  if (!error) error = ln_commit_group(db);
  if (error) return ln_undo(db, error);
  db->state = LN_READY;
  return ln_commit_point(db);
}

static int rollback(struct lunar* db) {
  if (db->state == LN_TXN_LOST) return 0;
  if (db->state != LN_IN_TXN) return LUNAR_E_TXN;
  LN_TRY(ln_undo(db, 0));
  return db->state == LN_BROKEN ? LUNAR_E_FAILED : 0;
}

/* Ends a lost transaction, too. Leaves, and returns the error. */
static int ended(struct lunar* db, int error) {
  if (db->state == LN_TXN_LOST) db->state = LN_READY;
  return ln_leave(db, error);
}

int lunar_begin(struct lunar* db) {
  LN_TRY(ln_enter(db));
  return ln_leave(db, begin(db));
}

int lunar_commit(struct lunar* db) {
  LN_TRY(ln_enter_for_commit(db));
  return ended(db, commit(db));
}

int lunar_rollback(struct lunar* db) {
  LN_TRY(ln_enter_for_commit(db));
  return ended(db, rollback(db));
}
