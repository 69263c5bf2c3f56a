/* What a test wants to know of a statement and no program does. */
#ifndef LUNAR_SQL_PEEK_H
#define LUNAR_SQL_PEEK_H

#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

int sql_peek_several_passes(const struct lunar_statement* statement); /* in its last run */
/* The index by which that found its rows; empty: none. */
const char* sql_peek_index(const struct lunar_statement* statement);
int sql_peek_ordered_by_index(const struct lunar_statement* statement);
/* The path of a statement on rows in a few words, else NULL. */
const char* sql_peek_path(const struct lunar_statement* statement);

#ifdef __cplusplus
}
#endif
#endif
