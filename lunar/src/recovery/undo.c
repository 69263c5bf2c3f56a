/* Undo of an operation that failed half-way, and of a transaction. */
#include "recovery.h"

/* Rolls back to the committed state. Returns `error`, or the device's error if the rollback itself failed. A
 * transaction rolled back by an error stays lost until the caller ends it: later operations in it must not take effect
 * on their own. Ends the handle (LN_BROKEN) if the operation cannot be undone: after a failed write, after the
 * operation is recorded or has changed rows in place, and in mode none, which has no log. */
int ln_undo(struct lunar* db, int error) {
  LUNAR_ASSERT(db->state != LN_CLOSED && !db->redoing);
  const int in_transaction = db->state == LN_IN_TXN;
  if (db->state == LN_BROKEN) return error;
  /* Mode none checks for room before it changes anything, so there is nothing to undo. */
  if (db->mode == LUNAR_MODE_NONE && LN_NO_ROOM(error)) return error;
  if (db->doubtful && db->mode != LUNAR_MODE_NONE && !db->no_way_back) ln_make_scratch(db);
  int failed = db->mode == LUNAR_MODE_NONE || db->no_way_back ? LUNAR_E_FAILED : ln_settle_plain(db, 0, LN_NONE);
  /* The stage has the records of the operations before this one. */
  if (!failed && !in_transaction) failed = ln_stage_write(db, 0);
#if LUNAR_WITH_REPAIR
  db->marked = 0;
  if (!failed) failed = ln_recover(db);
  /* Recovery marked a ring table that it could not read. The handle ends; lunar_table_open repairs the table after the
   * next mount. */
  if (!failed && db->marked) failed = db->failed_request ? LUNAR_E_IO : LUNAR_E_FAILED;
#else
  if (!failed) failed = ln_recover(db);
#endif
  if (failed)
    db->state = LN_BROKEN;
  else if (in_transaction && error)
    db->state = LN_TXN_LOST;
  return failed == LUNAR_E_IO || failed == LUNAR_E_OTHER_VOLUME ? failed : error;
}

int ln_undo_change(struct lunar* db, int error) {
  if (error && db->changing) error = ln_undo(db, error);
  db->changing = 0;
  return error;
}
