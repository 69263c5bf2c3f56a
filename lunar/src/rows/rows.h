/* Rows as bytes, their keys, and their places in blocks. */
#ifndef LUNAR_ROWS_H
#define LUNAR_ROWS_H

#include "../index/index.h"

/* Where the content of a record lies. */
struct ln_content {
  uint32_t sector, offset;
};

/* rows.c. A row has a u16 with a NULL bit for each column, the key's column, then the other columns in order. Integers,
 * REAL and BOOLEAN have a fixed width. TEXT and BLOB have a u16 with their length, then their bytes. NULL occupies no
 * bytes. If the table has checksums, the row's checksum follows it and counts as part of the row. */
int ln_values_check(const struct lunar_table* table, const struct lunar_value* values);
uint32_t ln_row_bytes(const struct lunar_table* table, const struct lunar_value* values); /* without checksum */
#if LUNAR_WITH_CHECKSUM
#define ln_row_sum_bytes(table) ((table)->checksum ? (uint32_t)LN_ROW_SUM : 0u)
/* Returns 1 if the stored row matches its checksum, 0 if not, or an error. offset: of the row without its header.
 * bytes: of the row with its checksum. */
int ln_row_is_whole(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes);
int ln_row_renew_sum(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes);
#else
#define ln_row_sum_bytes(table) 0u
#define ln_row_is_whole(db, sector, offset, bytes) 1
#define ln_row_renew_sum(db, sector, offset, bytes) 0
#endif
int ln_row_emit(const struct lunar_table* table, const struct lunar_value* values, void* sink,
                int (*put)(void* sink, const void* data, uint32_t bytes));
int ln_row_decode(const struct lunar_table* table, const uint8_t* row, uint32_t bytes, struct lunar_value* values);
int ln_key_of(const struct lunar_table* table, const struct lunar_value* value, struct ln_key* key);
/* Reads the key of a stored row. offset: of the row without its header. */
int ln_row_key(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset, struct ln_key* key);
int ln_row_has_key(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset,
                   const struct lunar_value* key);
/* Finds a column in a stored row. *column_offset is relative to `offset`; *column_bytes is 0 if the column is NULL. */
int ln_row_column(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset, uint8_t column,
                  uint32_t* column_offset, uint32_t* column_bytes);
uint32_t ln_value_bytes(uint8_t type, const struct lunar_value* value);
int ln_value_emit(uint8_t type, const struct lunar_value* value, void* sink,
                  int (*put)(void* sink, const void* data, uint32_t bytes));
int ln_value_check(uint8_t type, uint8_t flags, const struct lunar_value* value);

#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
/* Returns 1 if the bytes at this offset are a row of the table, 0 if not, or an error. bytes: without the checksum. */
int ln_row_is_sound(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset,
                    uint32_t bytes);
#endif

#if LUNAR_WITH_CACHE
int ln_row_is_of(const struct lunar_table* table, const uint8_t* row, const struct lunar_value* key);
#endif

/* place.c: finds where a row lies, and where a new one goes. */
int ln_row_at(struct lunar* db, struct ln_place place, uint32_t* sector, uint32_t* offset, uint32_t* bytes);
int ln_row_get(const struct lunar_table* table, struct ln_place place, void* row, size_t row_bytes,
               struct lunar_value* values);
/* Finds a row by its primary key. E_INVALID, E_TOO_LARGE: not a key of this table. */
int ln_row_find(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* key,
                struct ln_place* place);

#define LN_NO_COLUMN 0xffu

/* A row to write: new values, or an old row of which one column may be replaced. */
struct ln_new_row {
  const struct lunar_table* table;
  const struct lunar_value* values; /* NULL: those of the old row */
  struct ln_row row;
  uint32_t row_bytes;
  /* Set by ln_row_room. direct: the row is written with its record, as part of the group. appends: the row lies behind
   * all rows of its block. */
  uint8_t direct, appends;
  /* the old row; sector, offset and old_bytes: of it without its header; column_*: of the replaced column */
  struct ln_place old; /* ref LN_NONE: the row has no old place */
  uint32_t sector, offset, old_bytes, column_offset, column_bytes;
  uint8_t column;                  /* without values: the replaced column; LN_NO_COLUMN: none */
  const struct lunar_value* value; /* its new value; NULL: none */
};
/* Finds the place of the row: sets row.place, row.position, row.room, direct and appends. Adds a block to the table if
 * no block has room. */
int ln_row_room(struct ln_new_row* new_row, struct lunar_frame* meta);
/* Brings the sectors of a row into frames before its record is logged, so that an unreadable sector is found in time.
 * Not for a direct row. appends: the row lies behind all rows of its block, so its sectors that no other row shares are
 * not read. */
int ln_row_ready(struct lunar* db, const struct ln_row* row, uint32_t row_bytes, int appends);
/* Logs the row, writes it, and calls ln_row_link. A direct row lies in the group of its record; this changes
 * row.position. The caller has inserted the index entry of a row without an old place. */
int ln_row_write(struct ln_new_row* new_row, struct lunar_frame* meta, const struct ln_key* key);
/* Enters the row into its block. If the row moved (from.ref is not LN_NONE), points its entry in the primary index to
 * the new place and removes the row from the old place. */
int ln_row_link(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                const struct ln_row* row, uint32_t row_bytes);
/* ln_row_copy overwrites bytes of rows in frames with bytes from elsewhere on the device, ln_value_write with a value.
 * appends: as for ln_row_ready. plain: as for ln_write_bytes. */
int ln_row_copy(struct lunar* db, struct ln_content from, uint32_t bytes, uint32_t sector, uint32_t offset,
                int appends);
int ln_value_write(struct lunar* db, uint8_t type, const struct lunar_value* value, uint32_t sector, uint32_t offset,
                   int plain);

#endif
