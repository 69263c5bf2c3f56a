/* Rows as bytes; rows.h has the layout. The key comes first, so that it can be read without the other columns. */
#include "rows.h"

static uint32_t width(uint8_t type) {
  LUNAR_ASSERT(type <= LUNAR_BLOB);
  static const uint8_t widths[] = {0, 1, 2, 4, 8, 8, 1, 0, 0};
  _Static_assert(sizeof widths == LUNAR_BLOB + 1, "a width for each type");
  return widths[type];
}

static int is_bytes(uint8_t type) { return type == LUNAR_TEXT || type == LUNAR_BLOB; }

int ln_value_check(uint8_t type, uint8_t flags, const struct lunar_value* value) {
  LUNAR_ASSERT(type > LUNAR_NULL && type <= LUNAR_BLOB && value);
  if (value->type == LUNAR_NULL) return flags & LUNAR_NOT_NULL ? LUNAR_E_INVALID : 0;
  if (is_bytes(type)) {
    if (value->type != type) return LUNAR_E_INVALID;
    LUNAR_ASSERT(value->as.data || value->bytes == 0);
    return value->bytes <= 0xffff ? 0 : LUNAR_E_TOO_LARGE;
  }
  if (type == LUNAR_REAL) return value->type == type ? 0 : LUNAR_E_INVALID;
  if (type == LUNAR_BOOLEAN) return value->type == type && !(value->as.integer & ~(int64_t)1) ? 0 : LUNAR_E_INVALID;
  if (value->type != LUNAR_INT64) return LUNAR_E_INVALID;
  const int64_t limit = type == LUNAR_INT64 ? INT64_MAX : ((int64_t)1 << (8 * width(type) - 1)) - 1;
  return value->as.integer <= limit && value->as.integer >= -limit - 1 ? 0 : LUNAR_E_INVALID;
}

int ln_values_check(const struct lunar_table* table, const struct lunar_value* values) {
  LUNAR_ASSERT(table->column_count <= LUNAR_COLUMNS_MAX && values);
  for (uint32_t i = 0; i < table->column_count; i++)
    LN_TRY(ln_value_check(table->types[i], i == table->key ? LUNAR_NOT_NULL : table->flags[i], &values[i]));
  return 0;
}

uint32_t ln_value_bytes(uint8_t type, const struct lunar_value* value) {
  if (value->type == LUNAR_NULL) return 0;
  return is_bytes(type) ? 2 + value->bytes : width(type);
}

uint32_t ln_row_bytes(const struct lunar_table* table, const struct lunar_value* values) {
  uint32_t bytes = 2;
  for (uint32_t i = 0; i < table->column_count; i++) bytes += ln_value_bytes(table->types[i], &values[i]);
  return bytes;
}

int ln_value_emit(uint8_t type, const struct lunar_value* value, void* sink,
                  int (*put)(void* sink, const void* data, uint32_t bytes)) {
  LUNAR_ASSERT(value && put && type != LUNAR_NULL);
  LN_FIELDS(number, 8);
  if (value->type == LUNAR_NULL) return 0;
  if (is_bytes(type)) {
    ln_put16(number, value->bytes);
    LN_TRY(put(sink, number, 2));
    return value->bytes ? put(sink, value->as.data, value->bytes) : 0;
  }
  uint64_t bits = (uint64_t)value->as.integer;
  if (type == LUNAR_REAL) memcpy(&bits, &value->as.real, 8);
  ln_put64(number, bits);
  return put(sink, number, width(type));
}

/* Returns the column at position i of a row: the key's column comes first, then the others in order. */
static uint8_t column_at(const struct lunar_table* table, uint32_t i) {
  LUNAR_ASSERT(i < table->column_count);
  if (i == 0) return table->key;
  return (uint8_t)(i <= table->key ? i - 1 : i);
}

int ln_row_emit(const struct lunar_table* table, const struct lunar_value* values, void* sink,
                int (*put)(void* sink, const void* data, uint32_t bytes)) {
  LUNAR_ASSERT(values && put);
  LN_FIELDS(nulls, 2);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < table->column_count; i++) bits |= (uint32_t)(values[i].type == LUNAR_NULL) << i;
  ln_put16(nulls, bits);
  LN_TRY(put(sink, nulls, 2));
  for (uint32_t i = 0; i < table->column_count; i++) {
    const uint8_t column = column_at(table, i);
    LN_TRY(ln_value_emit(table->types[column], &values[column], sink, put));
  }
  return 0;
}

static int64_t sign_extended(uint64_t bits, uint32_t bytes) {
  LUNAR_ASSERT(bytes > 0 && bytes <= 8);
  const uint32_t shift = 64 - 8 * bytes;
  return (int64_t)(bits << shift) >> shift;
}

static void decode_number(uint8_t type, const uint8_t* from, struct lunar_value* value) {
  LN_FIELDS(wide, 8) = {0};
  memcpy(wide, from, width(type));
  const uint64_t bits = ln_get64(wide);
  value->type = type == LUNAR_REAL || type == LUNAR_BOOLEAN ? type : LUNAR_INT64;
  if (type == LUNAR_REAL)
    memcpy(&value->as.real, &bits, 8);
  else
    value->as.integer = type == LUNAR_BOOLEAN ? (int64_t)bits : sign_extended(bits, width(type));
}

int ln_row_decode(const struct lunar_table* table, const uint8_t* row, uint32_t bytes, struct lunar_value* values) {
  LUNAR_ASSERT(row && values);
  uint32_t at = 2;
  if (bytes < 2) return LUNAR_E_CORRUPT;
  for (uint32_t i = 0; i < table->column_count; i++) {
    const uint8_t column = column_at(table, i), type = table->types[column];
    struct lunar_value* value = &values[column];
    *value = (struct lunar_value){.type = LUNAR_NULL};
    if (ln_load16(row) >> column & 1) continue;
    uint32_t size = is_bytes(type) ? 2 : width(type);
    if (bytes - at < size) return LUNAR_E_CORRUPT;
    if (is_bytes(type)) {
      value->type = type;
      value->bytes = ln_load16(row + at);
      value->as.data = row + at + 2;
      size += value->bytes;
      if (bytes - at < size) return LUNAR_E_CORRUPT;
    } else {
      decode_number(type, row + at, value);
    }
    at += size;
  }
  return at == bytes ? 0 : LUNAR_E_CORRUPT;
}

/* Checksums of a TEXT or BLOB key. Both together are its hash in a hash index; a tree has the bytes themselves. */
struct key_sums {
  struct ln_sum high, low;
};

/* The sums depend on the volume's number, so that nobody can choose keys with equal sums. */
static void sums_begin(const struct lunar_table* table, struct key_sums* sums) {
  ln_sum_begin(&sums->high, table->db->geometry.volume);
  ln_sum_begin(&sums->low, ~table->db->geometry.volume);
}

static void sums_add(struct key_sums* sums, const void* bytes, uint32_t count) {
  ln_sum_add(&sums->high, bytes, count);
  ln_sum_add(&sums->low, bytes, count);
}

static uint64_t sums_end(struct key_sums* sums) {
  return (uint64_t)ln_sum_end(&sums->high) << 32 | ln_sum_end(&sums->low);
}

#if LUNAR_WITH_TREE
static int in_tree(const struct lunar_table* table) { return table->index == LUNAR_INDEX_TREE; }
#endif

static void key_of_integer(const struct lunar_table* table, int64_t integer, struct ln_key* key) {
  key->number = (uint64_t)integer;
#if LUNAR_WITH_TREE
  if (!in_tree(table)) return;
  key->count = 8;
  for (uint32_t i = 0; i < 8; i++) key->bytes[i] = (uint8_t)((key->number ^ (uint64_t)1 << 63) >> (56 - 8 * i));
#else
  (void)table;
#endif
}

int ln_key_of(const struct lunar_table* table, const struct lunar_value* value, struct ln_key* key) {
  LUNAR_ASSERT(value->type != LUNAR_NULL && key);
  struct key_sums sums;
  if (!is_bytes(value->type)) {
    key_of_integer(table, value->as.integer, key);
    return 0;
  }
#if LUNAR_WITH_TREE
  if (in_tree(table)) {
    if (value->bytes > LUNAR_TREE_KEY_MAX) return LUNAR_E_TOO_LARGE;
    key->count = (uint8_t)value->bytes;
    if (value->bytes) memcpy(key->bytes, value->as.data, value->bytes);
    return 0;
  }
#endif
  sums_begin(table, &sums);
  sums_add(&sums, value->as.data, value->bytes);
  key->number = sums_end(&sums);
  return 0;
}

int ln_row_key(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset,
               struct ln_key* key) {
  const uint8_t type = table->types[table->key];
  LN_FIELDS(piece, 64);
  struct lunar_value value;
  struct key_sums sums;
  offset += 2;
  if (!is_bytes(type)) {
    LN_TRY(ln_read_bytes(db, sector, offset, piece, width(type)));
    decode_number(type, piece, &value);
    key_of_integer(table, value.as.integer, key);
    return 0;
  }
  LN_TRY(ln_read_bytes(db, sector, offset, piece, 2));
  offset += 2;
  const uint32_t count = ln_get16(piece);
#if LUNAR_WITH_TREE
  if (in_tree(table)) {
    if (count > LUNAR_TREE_KEY_MAX) return LUNAR_E_CORRUPT;
    key->count = (uint8_t)count;
    return ln_read_bytes(db, sector, offset, key->bytes, count);
  }
#endif
  sums_begin(table, &sums);
  for (uint32_t left = count, n; left; left -= n, offset += n) {
    n = left < sizeof piece ? left : (uint32_t)sizeof piece;
    LN_TRY(ln_read_bytes(db, sector, offset, piece, n));
    sums_add(&sums, piece, n);
  }
  key->number = sums_end(&sums);
  return 0;
}

int ln_row_has_key(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset,
                   const struct lunar_value* key) {
  LUNAR_ASSERT(key->type != LUNAR_NULL);
  LN_FIELDS(piece, 64);
  if (!is_bytes(table->types[table->key])) return 1; /* the key in the index is the integer itself */
  LN_TRY(ln_read_bytes(db, sector, offset + 2, piece, 2));
  if (ln_get16(piece) != key->bytes) return 0;
  offset += 4;
  for (uint32_t done = 0, n; done < key->bytes; done += n) {
    n = key->bytes - done < sizeof piece ? key->bytes - done : (uint32_t)sizeof piece;
    LN_TRY(ln_read_bytes(db, sector, offset + done, piece, n));
    if (memcmp(piece, (const uint8_t*)key->as.data + done, n) != 0) return 0;
  }
  return 1;
}

#if LUNAR_WITH_CACHE
int ln_row_is_of(const struct lunar_table* table, const uint8_t* row, const struct lunar_value* key) {
  const uint8_t type = table->types[table->key];
  struct lunar_value stored;
  if (is_bytes(type))
    return ln_load16(row + 2) == key->bytes && (!key->bytes || memcmp(row + 4, key->as.data, key->bytes) == 0);
  decode_number(type, row + 2, &stored);
  return stored.as.integer == key->as.integer;
}
#endif

int ln_row_column(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset, uint8_t column,
                  uint32_t* column_offset, uint32_t* column_bytes) {
  LUNAR_ASSERT(column < table->column_count);
  LN_FIELDS(number, 2);
  LN_TRY(ln_read_bytes(db, sector, offset, number, 2));
  const uint32_t nulls = ln_get16(number);
  uint32_t at = 2;
  for (uint32_t i = 0; i < table->column_count; i++) {
    const uint8_t c = column_at(table, i);
    uint32_t size = nulls >> c & 1 ? 0 : width(table->types[c]);
    if (is_bytes(table->types[c]) && !(nulls >> c & 1)) {
      LN_TRY(ln_read_bytes(db, sector, offset + at, number, 2));
      size = 2u + ln_get16(number);
    }
    *column_offset = at;
    *column_bytes = size;
    if (c == column) return 0;
    at += size;
  }
  return LUNAR_E_INVALID;
}

#if LUNAR_WITH_CHECKSUM
/* Computes the checksum of the row, and reads the stored one. */
static int sums_of(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes, uint32_t* sum,
                   uint32_t* stored) {
  LN_FIELDS(piece, 64);
  struct ln_sum of_row;
  LUNAR_ASSERT(bytes >= LN_ROW_SUM);
  ln_sum_begin(&of_row, db->geometry.volume);
  for (uint32_t left = bytes - LN_ROW_SUM, n; left; left -= n, offset += n) {
    n = left < sizeof piece ? left : (uint32_t)sizeof piece;
    LN_TRY(ln_read_bytes(db, sector, offset, piece, n));
    ln_sum_add(&of_row, piece, n);
  }
  *sum = ln_sum_end(&of_row);
  LN_TRY(ln_read_bytes(db, sector, offset, piece, LN_ROW_SUM));
  *stored = ln_get32(piece);
  return 0;
}

int ln_row_is_whole(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes) {
  uint32_t sum, stored;
  if (bytes < LN_ROW_SUM) return 0;
  LN_TRY(sums_of(db, sector, offset, bytes, &sum, &stored));
  return sum == stored;
}

int ln_row_renew_sum(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes) {
  uint32_t sum, stored;
  LN_FIELDS(piece, LN_ROW_SUM);
  if (bytes < LN_ROW_SUM) return LUNAR_E_CORRUPT;
  LN_TRY(sums_of(db, sector, offset, bytes, &sum, &stored));
  ln_put32(piece, sum);
  return ln_write_bytes(db, sector, offset + bytes - LN_ROW_SUM, piece, LN_ROW_SUM, 0);
}
#endif

#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
int ln_row_is_sound(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset,
                    uint32_t bytes) {
  LN_FIELDS(number, 2);
  uint32_t at = 2;
  if (bytes < 2) return 0;
  LN_TRY(ln_read_bytes(db, sector, offset, number, 2));
  const uint32_t nulls = ln_get16(number);
  if (nulls >> table->column_count || nulls >> table->key & 1) return 0;
  for (uint32_t i = 0; i < table->column_count; i++) {
    uint32_t column = i; /* the key, then the others */
    if (i == 0)
      column = table->key;
    else if (i <= table->key)
      column = i - 1;
    const struct lunar_value empty = {.type = table->types[column]};
    if (nulls >> column & 1) {
      if (table->flags[column] & LUNAR_NOT_NULL) return 0;
      continue;
    }
    uint32_t size = ln_value_bytes(table->types[column], &empty);
    if (bytes - at < size) return 0;
    if (is_bytes(table->types[column])) {
      LN_TRY(ln_read_bytes(db, sector, offset + at, number, 2));
      size += ln_get16(number);
      if (bytes - at < size) return 0;
    }
    at += size;
  }
  return at == bytes;
}
#endif
