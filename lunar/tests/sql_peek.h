/* Details of a statement that only tests need. */
#ifndef LUNAR_SQL_PEEK_H
#define LUNAR_SQL_PEEK_H

#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

int sql_peek_several_passes(const struct lunar_statement* statement); /* in its last run */
/* Returns the index that the last run used; "" if none. */
const char* sql_peek_index(const struct lunar_statement* statement);
int sql_peek_ordered_by_index(const struct lunar_statement* statement);
/* Returns the access path of a statement on rows as text, else NULL. */
const char* sql_peek_path(const struct lunar_statement* statement);
/* Of the library: reads a number, and returns how many bytes it takes. */
uint32_t ln_sql_number(const char* text, uint32_t bytes, struct lunar_value* value);

#ifdef __cplusplus
}
#endif
#endif
