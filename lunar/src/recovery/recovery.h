/* Recovery to the committed state, and the check of the whole volume. */
#ifndef LUNAR_RECOVERY_H
#define LUNAR_RECOVERY_H

#include "../tables/tables.h"

/* recover.c */
int ln_recover(struct lunar* db); /* checkpoint_at LN_NONE: it has to be found */
#if LUNAR_WITH_CHECK
int ln_log_whole(struct lunar* db); /* 1: the last checkpoint and its images are on the device as they were written */
#endif

#if LUNAR_WITH_REPAIR
/* repair.c. losses are added. */
int ln_repair(struct lunar* db, uint16_t number, struct lunar_losses* losses);
int ln_repair_ring(struct lunar* db, uint16_t number); /* if it is one: the program decides about others */
#endif

/* undo.c */
int ln_undo(struct lunar* db, int error);
int ln_undo_change(struct lunar* db, int error); /* ln_undo, when there is an error and db->changing */

#endif
