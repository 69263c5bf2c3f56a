/* After a recovery to a state that is older than some pages in place (LN_STALE), names, metadata and lists of indexes
 * may be of different times. ln_reconcile removes each table or index about which they disagree: either the log has
 * lost its creation, or its removal is already in place. */
#include "recovery.h"

#if LUNAR_WITH_REPAIR

int ln_mark_all(struct lunar* db) {
  for (uint16_t number = 0; number < db->geometry.tables_max; number++) {
    struct lunar_frame* meta;
    LN_TRY(ln_meta(db, number, &meta));
    uint8_t* m = meta->bytes;
    if (m[LN_META_COLUMNS] && ln_get32(m + LN_META_CREATION)) {
      m[LN_META_RING] |= LN_MENDED;
      ln_dirty(db, meta);
    }
    ln_put(meta);
  }
  return 0;
}

#if LUNAR_WITH_SECONDARY
/* Returns 1 if the number is an index whose metadata names this table, 0 if not, or an error. */
static int is_index_of(struct lunar* db, uint16_t number, uint16_t table) {
  struct lunar_frame* meta;
  if (number >= db->geometry.tables_max) return 0;
  LN_TRY(ln_meta(db, number, &meta));
  const uint8_t* m = meta->bytes;
  const int is = m[LN_META_COLUMNS] == 0 && ln_get32(m + LN_META_CREATION) && ln_get16(m + LN_META_TABLE) == table;
  ln_put(meta);
  return is;
}

/* Returns a number above 0 if `table` is a table that lists the index `number`, 0 if not, or an error. */
static int lists(struct lunar* db, uint16_t table, uint16_t number) {
  uint16_t numbers[LUNAR_INDEXES_MAX];
  struct lunar_frame* meta;
  if (table >= db->geometry.tables_max) return 0;
  LN_TRY(ln_meta(db, table, &meta));
  const int is_table = meta->bytes[LN_META_COLUMNS] && ln_get32(meta->bytes + LN_META_CREATION);
  ln_put(meta);
  int count = is_table ? ln_secondary_list(db, table, numbers) : 0;
  while (count > 0 && numbers[count - 1] != number) count--;
  return count;
}

/* Removes indexes that do not exist from the table's list. */
static int relist(struct lunar* db, uint16_t number) {
  uint16_t numbers[LUNAR_INDEXES_MAX];
  struct lunar_frame* meta;
  int stay = 0;
  const int count = ln_secondary_list(db, number, numbers);
  LN_TRY(count);
  for (int i = 0; i < count; i++) {
    const int is = is_index_of(db, numbers[i], number);
    LN_TRY(is);
    if (is) numbers[stay++] = numbers[i];
  }
  if (stay == count) return 0;
  LN_TRY(ln_meta(db, number, &meta));
  for (int i = 0; i < count; i++) ln_put16(meta->bytes + LN_META_INDEXES + 2 * i, i < stay ? numbers[i] + 1u : 0);
  ln_dirty(db, meta);
  ln_put(meta);
  return 0;
}
#else
#define lists(db, table, number) 1
#define relist(db, number) 0
#endif

static int has_schema(struct lunar* db, uint16_t number) {
  struct lunar_frame* schema;
  const int error = ln_page(db, ln_meta_sector(db, number) + 1, LN_SCHEMA, &schema);
  if (error) return error == LUNAR_E_CORRUPT ? 0 : error;
  ln_put(schema);
  return 1;
}

static int reconcile(struct lunar* db, uint16_t number) {
  static const char none[LUNAR_NAME_MAX + 1];
  char name[LUNAR_NAME_MAX + 1];
  struct lunar_frame* meta;
  LN_TRY(ln_name_read(db, number, name));
  LN_TRY(ln_meta(db, number, &meta));
  uint8_t* m = meta->bytes;
  const int has_meta = ln_get32(m + LN_META_CREATION) != 0;
  int exists = name[0] && has_meta;
  if (exists) exists = m[LN_META_COLUMNS] ? has_schema(db, number) : lists(db, ln_get16(m + LN_META_TABLE), number);
  if (has_meta && !exists) {
    ln_put32(m + LN_META_CREATION, 0);
    ln_dirty(db, meta);
  }
  const int is_table = exists > 0 && m[LN_META_COLUMNS];
  ln_put(meta);
  LN_TRY(exists);
  if (name[0] && !exists) LN_TRY(ln_name_write(db, number, none));
  return is_table ? relist(db, number) : 0;
}

/* Two rounds: if the first round removes a table, only the second one removes its indexes with smaller numbers. */
int ln_reconcile(struct lunar* db) {
  for (int round = 0; round < 2; round++)
    for (uint16_t number = 0; number < db->geometry.tables_max; number++) {
      LN_TRY(ln_ensure_clean(db, 2));
      LN_TRY(reconcile(db, number));
    }
  return 0;
}

#endif
