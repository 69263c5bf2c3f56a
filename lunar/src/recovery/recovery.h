/* Recovery, undo of failed operations, repair of damaged tables, and what lunar_check needs of recovery. */
#ifndef LUNAR_RECOVERY_H
#define LUNAR_RECOVERY_H

#include "../tables/tables.h"

/* recover.c */
/* Brings the volume back to the last committed state: restores pages from before images and the images of the last
 * checkpoint, repeats the operations committed since, and writes a checkpoint. Searches the log for the last checkpoint
 * if db->checkpoint_at is LN_NONE, as at mount. Returns 0 or an error. */
int ln_recover(struct lunar* db);
#if LUNAR_WITH_CHECK
/* Returns 1 if the last checkpoint and its images are on the device as they were written, 0 if not, or an error. */
int ln_log_whole(struct lunar* db);
#endif

#if LUNAR_WITH_REPAIR
/* repair.c: ln_repair repairs a table and adds what is lost to *losses. ln_repair_ring repairs a ring table and adds
 * what is lost to the handle's counters (lunar_stat). Insertions and lunar_table_open call it. The program decides
 * about the repair of other tables (lunar_repair). */
int ln_repair(struct lunar* db, uint16_t number, struct lunar_losses* losses);
int ln_repair_ring(struct lunar* db, uint16_t number);
/* Removes all rows of a damaged table. The indexes and the chain of blocks may lead to blocks of other tables, so
 * ln_empty follows neither. Its repair then frees all blocks that no table or index has. */
int ln_empty(struct lunar* db, uint16_t number);
/* Returns 1 if the error is E_CORRUPT, or E_IO of a sector that still cannot be read when it is tried again; otherwise
 * 0. */
int ln_is_damage(struct lunar* db, int error);
/* Returns 1 if the error means that data is lost: E_CORRUPT, or E_IO of a sector on a device that still answers.
 * Otherwise returns the error, which is E_IO if the device does not answer at all. */
int ln_is_loss(struct lunar* db, int error);

/* reconcile.c: after a recovery in which pages in place may be newer than the end of the log (LN_STALE). ln_mark_all
 * marks every table for repair. ln_reconcile removes the tables and indexes about which names, metadata and lists of
 * indexes disagree. */
int ln_mark_all(struct lunar* db);
int ln_reconcile(struct lunar* db);

/* rebuild.c: rebuilds the header or the slots of a block if they are lost. If the device does not keep writes to these
 * sectors, makes a copy of the block and sets *ref to the copy. The caller links the block with its neighbours. meta:
 * metadata page of the table, whose primary index must be unchanged. Returns 1; 0 if there is no room for a copy,
 * another table has the block, or the map has no block of at least two sectors at *ref; or an error. */
int ln_rebuild_block(const struct lunar_table* table, struct lunar_frame* meta, uint32_t* ref, uint32_t serial);

/* owner.c: finds the owner of a block in use. sectors: size of the block. repaired: a damaged table whose chain of
 * blocks is whole again; LN_NO_TABLE if there is none. Returns an enum ln_owner or an error. */
enum ln_owner {
  LN_OWNED,
  LN_LEAKED, /* no table or index has the block */
  LN_LOST    /* no table or index has the block, and some of its sectors cannot be read */
};
int ln_owner_of(struct lunar* db, uint32_t ref, uint32_t sectors, uint16_t repaired);
/* Returns 1 if a table or index with another number than `table` has the block, 0 if not, or an error. */
int ln_is_of_another(struct lunar* db, uint32_t ref, uint16_t table);
/* Frees all LN_LEAKED blocks of the volume. */
int ln_free_leaked(struct lunar* db, uint16_t repaired);
/* As ln_free_leaked, but frees nothing while a table waits for its repair. */
int ln_free_unowned(struct lunar* db);
#endif

/* undo.c */
int ln_undo(struct lunar* db, int error);
/* Ends a change: calls ln_undo if `error` is not 0 and db->changing is set, then clears db->changing. Returns the
 * error. */
int ln_undo_change(struct lunar* db, int error);

#endif
