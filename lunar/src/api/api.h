/* Declarations that the files of the public calls share. */
#ifndef LUNAR_API_H
#define LUNAR_API_H

#include "../recovery/recovery.h"

/* reclaim.c: moves rows out of blocks of which much is dead, so that these blocks are freed. Called before a change of
 * a row of row_bytes. In a transaction moves no row and counts the change as owed. Returns 0 or an error. */
int ln_reclaim_some(const struct lunar_table* table, uint32_t row_bytes);
/* Moves the rows that the changes in earlier transactions did not move. Called before a transaction. */
int ln_reclaim_owed(struct lunar* db);
/* Attempts that ln_retry has made, or can still make, for an operation without room. */
struct ln_attempts {
  uint8_t freed; /* 1: a checkpoint may make freed blocks available */
  /* 1: the operation was repeated with an otherwise empty log; number of tries to empty a block */
  uint8_t emptied, blocks;
};
/* Undoes what a failed operation changed. Returns 1 if the caller must repeat the operation, because it may succeed
 * now. Returns 0 if the operation is over; *error is its result. */
int ln_retry(struct lunar* db, int* error, struct ln_attempts* attempts);

/* operations.c: ends an operation that changes something: undoes it if error is not 0, otherwise commits it, and leaves
 * (ln_leave). Returns the error. */
int ln_finish_change(struct lunar* db, int error);
/* definitions.c: ln_drop drops a table or an index by its number; ln_truncate removes all rows of a table. */
int ln_drop(struct lunar* db, uint16_t number);
int ln_truncate(struct lunar* db, uint16_t number);

#endif
