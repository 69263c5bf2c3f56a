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
int ln_repair_ring(struct lunar* db, uint16_t number); /* counts the losses; the program decides about other tables */
/* Removes all rows of a damaged table. Its indexes and its chain of blocks may lead to blocks of others, so it follows
 * neither: a repair that finds no block frees what nothing has. */
int ln_empty(struct lunar* db, uint16_t number);
int ln_is_damage(struct lunar* db, int error); /* 1: also of a sector that cannot be read once more */
/* 1: an error means that something is lost. A device that does not answer at all loses nothing: the error. */
int ln_is_loss(struct lunar* db, int error);

/* reconcile.c: when pages in place may be later than the end of the log. Every table is to be repaired; and names,
 * metadata and lists of indexes agree. */
int ln_mark_all(struct lunar* db);
int ln_reconcile(struct lunar* db);

/* rebuild.c: a block whose header or slots are lost gets new ones; *ref becomes its copy, where the device does not
 * keep what is written there. Its neighbours are the caller's. 0: there is no room for a copy, or another table has the
 * block. meta: of the table, with the primary index as it was. */
int ln_rebuild_block(const struct lunar_table* table, struct lunar_frame* meta, uint32_t* ref, uint32_t serial);

/* owner.c: of a block in use. repaired: the damaged table whose chain of blocks is whole; LN_NO_TABLE: none. */
enum ln_owner { LN_OWNED, LN_LEAKED /* by nothing */, LN_LOST /* by nothing, and it cannot be read */ };
int ln_owner_of(struct lunar* db, uint32_t ref, uint32_t sectors, uint16_t repaired);
int ln_is_of_another(struct lunar* db, uint32_t ref, uint16_t table); /* 1: than this table */
int ln_free_leaked(struct lunar* db, uint16_t repaired);              /* all blocks of the volume that nothing has */
int ln_free_unowned(struct lunar* db); /* the same, unless a table waits for its repair */
#endif

/* undo.c */
int ln_undo(struct lunar* db, int error);
int ln_undo_change(struct lunar* db, int error); /* ln_undo, when there is an error and db->changing */

#endif
