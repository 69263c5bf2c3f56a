/* What the files of the public calls share. */
#ifndef LUNAR_API_H
#define LUNAR_API_H

#include "../recovery/recovery.h"

/* operations.c: the end of an operation that changes something. Undoes it at an error, commits it otherwise; leaves. */
int ln_finish_change(struct lunar* db, int error);
/* definitions.c: drops a table or an index by its number. */
int ln_drop(struct lunar* db, uint16_t number);

#endif
