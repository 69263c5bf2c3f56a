/* Tables with their indexes, rings and caches; sessions; the repetition of an operation from its record. */
#ifndef LUNAR_TABLES_H
#define LUNAR_TABLES_H

#include "../rows/rows.h"

/* session.c: one operation at a time. */
int ln_enter(struct lunar* db);
int ln_lock(struct lunar* db);             /* its error comes with the lock, where there is a configuration */
int ln_enter_for_commit(struct lunar* db); /* ln_enter, also when the transaction is lost */
int ln_leave(struct lunar* db, int error);
/* One call may have several operations: blocks that the last one took are not named by the record of the next one. */
static inline void ln_operation_begins(struct lunar* db) {
  db->allocated_count = 0;
  db->no_way_back = 0;
}

/* tables.c: names. */
int ln_name_is_sound(const char* name);
int ln_name_find(struct lunar* db, const char* name, uint16_t* number); /* E_INVALID: it cannot be a name */
int ln_name_free(struct lunar* db, uint16_t* number);                   /* E_TABLES: none */
int ln_name_read(struct lunar* db, uint16_t number, char name[LUNAR_NAME_MAX + 1]);
int ln_name_write(struct lunar* db, uint16_t number, const char name[LUNAR_NAME_MAX + 1]);

/* tables.c */
static inline uint32_t ln_meta_sector(const struct lunar* db, uint16_t number) {
  return db->geometry.meta_at + 2u * number;
}
int ln_meta(struct lunar* db, uint16_t number, struct lunar_frame** meta);
int ln_table_meta(const struct lunar_table* table, struct lunar_frame** meta); /* E_NO_TABLE: it was dropped */
int ln_table_load(struct lunar* db, uint16_t number, struct lunar_table* table);
int ln_schema_check(const struct lunar_schema* schema, const char** why); /* as ln_refuse; also E_UNSUPPORTED */
int ln_table_create(struct lunar* db, const char* name, const struct lunar_schema* schema);
int ln_table_redo_create(struct lunar* db, uint16_t number, struct ln_content content, uint32_t bytes);
int ln_table_redo_drop(struct lunar* db, uint16_t number);
int ln_table_redo_truncate(struct lunar* db, uint16_t number);
void ln_without_blocks(uint8_t* meta);

/* secondary.c: further indexes of a table. */
#if LUNAR_WITH_SECONDARY
/* Where an index finds the values of a row. */
struct ln_source {
  const struct lunar_value* values; /* NULL: the row is stored, */
  uint32_t sector, offset;          /* here, */
  uint8_t column;                   /* but for this column, */
  const struct lunar_value* value;  /* which is this, or, when it is NULL, */
  struct ln_content stored;         /* the content stored here */
};
/* The indexes forget a row that was at from (old NULL: there was none) and get to know the one at to (new NULL: none).
 * Blocks are taken before any are given back; with E_FULL nothing has changed. */
int ln_secondary_change(const struct lunar_table* table, const struct ln_source* old, struct ln_place from,
                        const struct ln_source* new, struct ln_place to);
int ln_secondary_forget(const struct lunar_table* table, struct ln_place place); /* the row that is stored there */
/* ln_make_room for an operation on this table. */
int ln_make_room_for(const struct lunar_table* table);
int ln_is_indexed(const struct lunar_table* table, uint8_t column);
/* Begins and ends with a checkpoint. */
int ln_secondary_create(struct lunar* db, const char* of, const char* name, uint8_t column, uint8_t kind);
/* Before that number is dropped: a table's indexes go, an index leaves its table's list. */
int ln_secondary_drop(struct lunar* db, uint16_t number);
int ln_is_table(struct lunar* db, uint16_t number); /* E_NO_TABLE: it is an index */
int ln_secondary_each(struct lunar* db, uint16_t number, int (*call)(struct lunar* db, uint16_t number));
int ln_secondary_list(struct lunar* db, uint16_t number, uint16_t numbers[LUNAR_INDEXES_MAX]); /* how many there are */
/* A repair gives up all of them, creates them without entries, and gives them the table's rows, while db->building is
 * set. */
enum ln_renewal { LN_GIVE_UP, LN_CREATE_EMPTY, LN_FILL };
int ln_secondary_renew(const struct lunar_table* table, enum ln_renewal step);
int ln_secondary_row_key(const struct lunar_table* table, uint8_t kind, uint8_t column, struct ln_place place,
                         uint32_t sector, uint32_t offset, struct ln_key* key);
void ln_scan_begin(struct lunar_cursor* cursor); /* cursor.c */
int ln_secondary_next(struct lunar_cursor* cursor, void* row, size_t row_bytes, struct lunar_value* values);
#define LN_RING_OF (0xff & ~(LN_INDEXED | LN_SUMMED | LN_MENDED))
#else
#define ln_secondary_forget(table, place) 0
#define ln_make_room_for(table) ln_make_room((table)->db, 1)
#define ln_is_indexed(table, column) 0
#define ln_secondary_drop(db, number) 0
#define ln_is_table(db, number) 0
#define ln_secondary_each(db, number, call) 0
#define LN_RING_OF (0xff & ~(LN_SUMMED | LN_MENDED))
#endif

/* cache.c: rows that were read by their keys. */
#if LUNAR_WITH_CACHE
int ln_cache_get(const struct lunar_table* table, const struct lunar_value* value, void* row, size_t row_bytes,
                 struct lunar_value* values); /* as lunar_get; E_NOT_FOUND: it has not got the row */
int ln_cache_put(const struct lunar_table* table, const void* row, const struct lunar_value* values);
void ln_cache_forget(const struct lunar_table* table, const struct ln_key* key);
void ln_cache_forget_all(struct lunar* db);
#else
#define ln_cache_get(table, key, row, row_bytes, values) LUNAR_E_NOT_FOUND
#define ln_cache_put(table, row, values) 0
#define ln_cache_forget(table, key) ((void)0)
#define ln_cache_forget_all(db) ((void)0)
#endif

/* tables.c: after an error that damage causes, the operation goes on, and repairs the table at its end; in a recovery
 * the table is marked, and can only be repaired from then on. Other errors are returned. */
#if LUNAR_WITH_REPAIR
int ln_mark_damaged(struct lunar* db, struct lunar_frame* meta, uint16_t number, int error);
#else
#define ln_mark_damaged(db, meta, number, error) (error)
#endif

/* ring.c: what an insertion of the row with that key makes go. */
#if LUNAR_WITH_RING
int ln_ring_oldest(struct lunar* db, struct lunar_frame* meta, struct ln_place* place);
int ln_ring_evict(const struct lunar_table* table, struct lunar_frame* meta, const struct ln_key* newest);
int ln_ring_trim(const struct lunar_table* table); /* after a repair: what its limit does not allow goes */
int ln_ring_drop_oldest(struct lunar* db, struct lunar_frame* meta); /* without its entries in indexes */
#else
#define ln_ring_evict(table, meta, newest) 0
#define ln_ring_trim(table) 0
#define ln_ring_drop_oldest(db, meta) LUNAR_E_CORRUPT
#endif

/* change.c: rows, with every index that has them. The caller undoes their changes when they fail. */
int ln_row_store(struct ln_new_row* new_row, struct lunar_frame* meta, const struct ln_key* key);
int ln_row_patch(const struct ln_new_row* new_row); /* the value has as many bytes as the one before */
int ln_row_remove(const struct lunar_table* table, struct lunar_frame* meta, struct ln_place place);

/* redo.c. content: where the record's content lies. */
int ln_redo(struct lunar* db, const struct ln_record_header* record, struct ln_content content);

#endif
