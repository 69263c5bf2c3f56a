/* Tables with their indexes, rings and caches. Sessions. Redo of operations from their log records. */
#ifndef LUNAR_TABLES_H
#define LUNAR_TABLES_H

#include "../rows/rows.h"

/* session.c: a handle executes one operation at a time. If ln_enter or ln_enter_for_commit returns an error, the lock
 * is not held. */
int ln_enter(struct lunar* db);
/* After an error the caller still holds the lock, unless db or its configuration is NULL. */
int ln_lock(struct lunar* db);
int ln_enter_for_commit(struct lunar* db); /* as ln_enter, but allowed if the transaction is lost */
int ln_leave(struct lunar* db, int error);
/* Begins an operation. A public call may consist of several: the record of an operation must not name the blocks that
 * the one before it allocated. */
static inline void ln_operation_begins(struct lunar* db) {
  db->allocated_count = 0;
  db->no_way_back = 0;
}

/* tables.c: names. */
int ln_name_is_sound(const char* name);
/* E_NO_TABLE: no table or index has the name. E_INVALID: the name has not 1 to LUNAR_NAME_MAX bytes. */
int ln_name_find(struct lunar* db, const char* name, uint16_t* number);
int ln_name_free(struct lunar* db, uint16_t* number); /* finds a free number; E_TABLES: all are in use */
int ln_name_read(struct lunar* db, uint16_t number, char name[LUNAR_NAME_MAX + 1]);
int ln_name_write(struct lunar* db, uint16_t number, const char name[LUNAR_NAME_MAX + 1]);

/* tables.c */
static inline uint32_t ln_meta_sector(const struct lunar* db, uint16_t number) {
  return db->geometry.meta_at + 2u * number;
}
int ln_meta(struct lunar* db, uint16_t number, struct lunar_frame** meta);
/* E_NO_TABLE: the table was dropped. E_CORRUPT: the table must be repaired first. */
int ln_table_meta(const struct lunar_table* table, struct lunar_frame** meta);
int ln_table_load(struct lunar* db, uint16_t number, struct lunar_table* table);
/* E_INVALID: *why is the reason (see ln_refuse). E_UNSUPPORTED: this build lacks the module. */
int ln_schema_check(const struct lunar_schema* schema, const char** why);
int ln_table_create(struct lunar* db, const char* name, const struct lunar_schema* schema);
int ln_table_redo_create(struct lunar* db, uint16_t number, struct ln_content content, uint32_t bytes);
int ln_table_redo_drop(struct lunar* db, uint16_t number);
int ln_table_redo_truncate(struct lunar* db, uint16_t number);
void ln_without_blocks(uint8_t* meta);

/* secondary.c: further indexes of a table. */
#if LUNAR_WITH_SECONDARY
/* Where an index finds the values of a row: in `values` or, if that is NULL, in a stored row of which one column may be
 * replaced. */
struct ln_source {
  const struct lunar_value* values; /* of all columns; NULL: the row is stored */
  uint32_t sector, offset;          /* of the stored row, without its header */
  uint8_t column;                   /* the replaced column; LN_NO_COLUMN: none */
  const struct lunar_value* value;  /* its new value; NULL: the device has it, at `stored` */
  struct ln_content stored;         /* see `value` */
};
/* Replaces the entries of a row in all secondary indexes of its table: removes those of `old`, at place `from`, and
 * inserts those of `new`, at place `to`. old NULL: the row is new; new NULL: the row is removed. Inserts all entries
 * before it removes any. If an index has no room (LN_NO_ROOM), mode none removes the inserted entries again; in the
 * other modes the caller undoes the operation. */
int ln_secondary_change(const struct lunar_table* table, const struct ln_source* old, struct ln_place from,
                        const struct ln_source* new, struct ln_place to);
/* Removes the entries of a stored row. */
int ln_secondary_forget(const struct lunar_table* table, struct ln_place place);
/* Makes room in the log for an operation on this table and its indexes (see ln_make_room). */
int ln_make_room_for(const struct lunar_table* table);
/* Returns 1 if the column has a secondary index, 0 if not, or an error. */
int ln_is_indexed(const struct lunar_table* table, uint8_t column);
/* Creates an index with an entry for each row of table `of`. Makes a checkpoint before and after, so it needs no
 * record. */
int ln_secondary_create(struct lunar* db, const char* of, const char* name, uint8_t column, uint8_t kind);
/* Called before the table or index with this number is dropped: drops all indexes of a table, or removes an index from
 * the list of its table. */
int ln_secondary_drop(struct lunar* db, uint16_t number);
int ln_is_table(struct lunar* db, uint16_t number); /* 0; E_NO_TABLE: an index has the number */
int ln_secondary_each(struct lunar* db, uint16_t number, int (*call)(struct lunar* db, uint16_t number));
int ln_secondary_list(struct lunar* db, uint16_t number, uint16_t numbers[LUNAR_INDEXES_MAX]); /* returns their count */
/* Does one step of a repair on all secondary indexes of a table. The caller sets db->building meanwhile. */
enum ln_renewal {
  LN_GIVE_UP,      /* forget the indexes' pages, which may be damaged */
  LN_CREATE_EMPTY, /* create the indexes without entries */
  LN_FILL          /* insert an entry for each row of the table */
};
int ln_secondary_renew(const struct lunar_table* table, enum ln_renewal step);
/* Builds the key of a stored row in an index of this kind and column. offset: of the row without its header. */
int ln_secondary_row_key(const struct lunar_table* table, uint8_t kind, uint8_t column, struct ln_place place,
                         uint32_t sector, uint32_t offset, struct ln_key* key);
void ln_scan_begin(struct lunar_cursor* cursor); /* api/cursor.c */
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

/* cache.c: rows that lunar_get has read. */
#if LUNAR_WITH_CACHE
int ln_cache_get(const struct lunar_table* table, const struct lunar_value* value, void* row, size_t row_bytes,
                 struct lunar_value* values); /* as lunar_get; E_NOT_FOUND: the cache does not have the row */
int ln_cache_put(const struct lunar_table* table, const void* row, const struct lunar_value* values);
void ln_cache_forget(const struct lunar_table* table, const struct ln_key* key);
void ln_cache_forget_all(struct lunar* db);
#else
#define ln_cache_get(table, key, row, row_bytes, values) LUNAR_E_NOT_FOUND
#define ln_cache_put(table, row, values) 0
#define ln_cache_forget(table, key) ((void)0)
#define ln_cache_forget_all(db) ((void)0)
#endif

/* tables.c: if damage caused the error, marks the table as damaged and returns 0, so that the operation continues;
 * otherwise returns the error. Outside recovery the caller is an insertion into a ring table, which repairs the table
 * at its end. After a recovery the table keeps the mark and can only be repaired. */
#if LUNAR_WITH_REPAIR
int ln_mark_damaged(struct lunar* db, struct lunar_frame* meta, uint16_t number, int error);
#else
#define ln_mark_damaged(db, meta, number, error) (error)
#endif

/* ring.c: rows that an insertion removes. newest: key of the inserted row. */
#if LUNAR_WITH_RING
int ln_ring_oldest(struct lunar* db, struct lunar_frame* meta, struct ln_place* place);
int ln_ring_evict(const struct lunar_table* table, struct lunar_frame* meta, const struct ln_key* newest);
int ln_ring_trim(const struct lunar_table* table); /* after a repair: removes the rows beyond the limit */
int ln_ring_drop_oldest(struct lunar* db, struct lunar_frame* meta); /* for a repair: leaves the indexes alone */
#else
#define ln_ring_evict(table, meta, newest) 0
#define ln_ring_trim(table) 0
#define ln_ring_drop_oldest(db, meta) LUNAR_E_CORRUPT
#endif

/* change.c: changes a row and all its indexes. If one of these fails, the caller undoes the operation. */
int ln_row_store(struct ln_new_row* new_row, struct lunar_frame* meta, const struct ln_key* key);
int ln_row_patch(const struct ln_new_row* new_row); /* the new value has as many bytes as the old one */
int ln_row_remove(const struct lunar_table* table, struct lunar_frame* meta, struct ln_place place);

/* redo.c: repeats the operation of a record. content: where the content of the record lies. */
int ln_redo(struct lunar* db, const struct ln_record_header* record, struct ln_content content);

#endif
