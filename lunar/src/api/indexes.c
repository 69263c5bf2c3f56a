/* The public calls that create and drop secondary indexes. */
#include "api.h"

#if LUNAR_WITH_SECONDARY

int lunar_index_create(struct lunar* db, const char* table, const char* name, uint8_t column, uint8_t kind) {
  LUNAR_ASSERT(table && name);
  LN_TRY(ln_enter(db));
  return ln_leave(db, ln_undo_change(db, ln_secondary_create(db, table, name, column, kind)));
}

static int index_drop(struct lunar* db, const char* name) {
  uint16_t number;
  LN_TRY(ln_name_find(db, name, &number));
  const int is_table = ln_is_table(db, number);
  if (!is_table) return LUNAR_E_NO_TABLE;
  return is_table == LUNAR_E_NO_TABLE ? ln_drop(db, number) : is_table;
}

int lunar_index_drop(struct lunar* db, const char* name) {
  LUNAR_ASSERT(name);
  LN_TRY(ln_enter(db));
  return ln_finish_change(db, index_drop(db, name));
}

#endif
