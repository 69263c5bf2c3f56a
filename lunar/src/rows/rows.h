/* Rows as bytes, their keys, and how they come to their place. */
#ifndef LUNAR_ROWS_H
#define LUNAR_ROWS_H

#include "../index/index.h"

/* Where the content of a record lies. */
struct ln_content {
  uint32_t sector, offset;
};

/* rows.c: a row is u16 of NULL bits (by column), the key's column, then the other columns in order. Integers, REAL and
 * BOOLEAN have their width; TEXT and BLOB u16 bytes and the bytes. NULL takes no bytes. Where the table has checksums,
 * that of the row is behind it and counts as a part of the row. */
int ln_values_check(const struct lunar_table* table, const struct lunar_value* values);
uint32_t ln_row_bytes(const struct lunar_table* table, const struct lunar_value* values); /* without checksum */
#if LUNAR_WITH_CHECKSUM
#define ln_row_sum_bytes(table) ((table)->checksum ? (uint32_t)LN_ROW_SUM : 0u)
/* Whether the stored row, which lies at that offset, fits its checksum: 1, 0, or an error. */
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
/* The key of a row, which lies (its header not counted) at that offset. */
int ln_row_key(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset, struct ln_key* key);
int ln_row_has_key(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset,
                   const struct lunar_value* key);
/* Where a column lies in a row: its offset and bytes (0 and -1 offset when NULL). */
int ln_row_column(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset, uint8_t column,
                  uint32_t* column_offset, uint32_t* column_bytes);
uint32_t ln_value_bytes(uint8_t type, const struct lunar_value* value);
int ln_value_emit(uint8_t type, const struct lunar_value* value, void* sink,
                  int (*put)(void* sink, const void* data, uint32_t bytes));
int ln_value_check(uint8_t type, uint8_t flags, const struct lunar_value* value);

#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
/* 1: so many bytes at that offset, without a checksum, are a row of the table. */
int ln_row_is_sound(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset,
                    uint32_t bytes);
#endif

#if LUNAR_WITH_CACHE
int ln_row_is_of(const struct lunar_table* table, const uint8_t* row, const struct lunar_value* key);
#endif

/* place.c: where a row lies, and where a new one goes. */
int ln_row_at(struct lunar* db, struct ln_place place, uint32_t* sector, uint32_t* offset, uint32_t* bytes);
int ln_row_get(const struct lunar_table* table, struct ln_place place, void* row, size_t row_bytes,
               struct lunar_value* values);
/* By the primary key, which is checked. */
int ln_row_find(const struct lunar_table* table, struct lunar_frame* meta, const struct lunar_value* key,
                struct ln_place* place);

#define LN_NO_COLUMN 0xffu

/* The row to write: from values, or an old row, of which one column may be replaced. */
struct ln_new_row {
  const struct lunar_table* table;
  const struct lunar_value* values; /* NULL: of the old row */
  struct ln_row row;
  uint32_t row_bytes;
  /* From ln_row_room on: it lies in the group of its record; behind all rows of its block. */
  uint8_t direct, appends;
  /* the old row */
  struct ln_place old; /* ref LN_NONE: none */
  uint32_t sector, offset, old_bytes, column_offset, column_bytes;
  uint8_t column;                  /* LN_NO_COLUMN: none is replaced, */
  const struct lunar_value* value; /* and this is NULL */
};
/* Finds row.place, row.position and row.room; gives the table a further block where it needs one. */
int ln_row_room(struct ln_new_row* new_row, struct lunar_frame* meta);
/* The sectors of a row that goes through frames. appends: it lies behind all rows of its block; sectors that have none
 * of them have nothing that is needed, and are not read. A sector that cannot be read is found before there is a
 * record. */
int ln_row_ready(struct lunar* db, const struct ln_row* row, uint32_t row_bytes, int appends);
/* Logs the row, writes it where its record's group is not its place itself (else row.position changes), and links it:
 * all but the new entry of the index. */
int ln_row_write(struct ln_new_row* new_row, struct lunar_frame* meta, const struct ln_key* key);
/* The index's and the block's part of a new row. from: the row's old place, LN_NONE: there was none. */
int ln_row_link(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                const struct ln_row* row, uint32_t row_bytes);
/* Changes bytes of rows in frames: to what lies elsewhere, or to a value. appends: as for ln_row_ready. */
int ln_row_copy(struct lunar* db, struct ln_content from, uint32_t bytes, uint32_t sector, uint32_t offset,
                int appends);
int ln_value_write(struct lunar* db, uint8_t type, const struct lunar_value* value, uint32_t sector, uint32_t offset,
                   int plain);

#endif
