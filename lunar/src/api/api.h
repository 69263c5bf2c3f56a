/* What the files of the public calls share. */
#ifndef LUNAR_API_H
#define LUNAR_API_H

#include "../recovery/recovery.h"

/* reclaim.c: before a change of a row of that size: rows leave blocks of which much is dead, so that these are freed.
 */
int ln_reclaim_some(const struct lunar_table* table, uint32_t row_bytes);
int ln_reclaim_owed(struct lunar* db); /* before a transaction: for those before it */
/* What an operation for which there was no room can still wait for. */
struct ln_attempts {
  uint8_t freed;           /* blocks that a checkpoint makes available */
  uint8_t emptied, blocks; /* the log was; so many blocks were reclaimed */
};
/* Undoes what a failed operation changed. 1: it has a chance now, and is called again. */
int ln_retry(struct lunar* db, int* error, struct ln_attempts* attempts);

/* operations.c: the end of an operation that changes something. Undoes it at an error, commits it otherwise; leaves. */
int ln_finish_change(struct lunar* db, int error);
/* definitions.c: drops a table or an index by its number; removes all rows of a table. */
int ln_drop(struct lunar* db, uint16_t number);
int ln_truncate(struct lunar* db, uint16_t number);

#endif
