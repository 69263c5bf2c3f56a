/* Recovery to the committed state, and the check of the whole volume. */
#ifndef LUNAR_RECOVERY_H
#define LUNAR_RECOVERY_H

#include "../tables/tables.h"

/* recover.c */
int ln_recover(struct lunar* db); /* checkpoint_at LN_NONE: it has to be found */
#if LUNAR_WITH_CHECK
int ln_log_whole(struct lunar* db); /* 1: the last checkpoint and its images are on the device as they were written */
#endif

/* undo.c */
int ln_undo(struct lunar* db, int error);
int ln_undo_change(struct lunar* db, int error); /* ln_undo, when there is an error and db->changing */

#endif
