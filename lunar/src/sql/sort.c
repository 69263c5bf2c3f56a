/* Sorts and groups rows in little memory, without writes to the device.
 *
 * The rest of the statement's memory holds records, sorted by their keys. A record is an array of values with the bytes
 * of TEXT and BLOB. If the memory is full, the last records are dropped, and the pass ignores all rows behind the
 * remaining records. These are returned, the last of them becomes the bound, and another pass over the table reads the
 * records behind it. docs/adr/015 compares this with a merge. The row that is read lies behind the records, so a large
 * row only leaves less room for records.
 */
#include "sql.h"

#if LUNAR_WITH_SQL

typedef struct lunar_value* sql_record;

static sql_record* slot(const struct lunar_statement* s, uint32_t i) { return (sql_record*)(void*)s->end - 1 - i; }
static size_t gap(const struct lunar_statement* s) {
  LUNAR_ASSERT(s->batch.used >= s->memory && s->batch.used <= (uint8_t*)(slot(s, s->batch.count) + 1));
  return (size_t)((uint8_t*)(slot(s, s->batch.count) + 1) - s->batch.used);
}

static size_t bytes_of(const struct lunar_statement* s, const struct lunar_value* values) {
  size_t bytes = s->batch.width * sizeof *values;
  for (uint32_t i = 0; i < s->batch.width; i++)
    if (values[i].type >= LUNAR_TEXT) bytes += values[i].bytes;
  return (bytes + 7) & ~(size_t)7;
}

/* Corrects the addresses in a record whose bytes were moved down. r: its old address. Returns its new address. */
static sql_record moved(const struct lunar_statement* s, sql_record r, size_t down) {
  r = (sql_record)(void*)((uint8_t*)r - down);
  for (uint32_t i = 0; i < s->batch.width; i++)
    if (r[i].type >= LUNAR_TEXT) r[i].as.data = (const uint8_t*)r[i].as.data - down;
  return r;
}

static void release(struct lunar_statement* s, sql_record r) {
  struct ln_batch* b = &s->batch;
  const size_t bytes = bytes_of(s, r);
  uint8_t* from = (uint8_t*)r + bytes;
  memmove(r, from, (size_t)(b->used - from));
  b->used -= bytes;
  for (uint32_t i = 0; i < b->count; i++)
    if (*slot(s, i) > r) *slot(s, i) = moved(s, *slot(s, i), bytes);
}

static void drop_last(struct lunar_statement* s) {
  LUNAR_ASSERT(s->batch.count > 0);
  const sql_record last = *slot(s, s->batch.count - 1);
  s->batch.count--;
  s->batch.full = 1;
  release(s, last);
}

/* Copies the values to a new record behind the others. Returns NULL if there is no room: the record may take half of
 * the free memory, and the row that is read lies in the other half. */
static sql_record placed(struct lunar_statement* s, const struct lunar_value* values) {
  const size_t bytes = bytes_of(s, values), room = gap(s);
  if (room < 2 * sizeof(sql_record) || bytes > room / 2 - sizeof(sql_record)) return NULL;
  const sql_record r = (sql_record)(void*)s->batch.used;
  uint8_t* data = (uint8_t*)(r + s->batch.width);
  memcpy(r, values, s->batch.width * sizeof *values);
  for (uint32_t i = 0; i < s->batch.width; i++) {
    if (r[i].type < LUNAR_TEXT) continue;
    if (r[i].bytes) memcpy(data, r[i].as.data, r[i].bytes);
    r[i].as.data = data;
    data += r[i].bytes;
  }
  s->batch.used += bytes;
  return r;
}

static int order_of(const struct lunar_statement* s, const struct lunar_value* a, const struct lunar_value* b) {
  int order = 0;
  for (uint32_t i = 0; i < s->batch.keys && !order; i++) {
    order = ln_sql_compare(&a[i], &b[i]);
    if (s->batch.descending >> i & 1) order = -order;
  }
  return order;
}

#if LUNAR_DEBUG
/* Asserts that the record lies in the memory of the records and in order between its neighbours. */
static void record_check(const struct lunar_statement* s, uint32_t at) {
  const struct ln_batch* b = &s->batch;
  const uint8_t* record = (const uint8_t*)*slot(s, at);
  LUNAR_ASSERT(at < b->count && b->at <= b->count && b->bounded <= b->count);
  LUNAR_ASSERT(record >= s->memory && record + b->width * sizeof(struct lunar_value) <= b->used);
  LUNAR_ASSERT(at == 0 || order_of(s, *slot(s, at - 1), *slot(s, at)) < 0);
  LUNAR_ASSERT(at + 1 == b->count || order_of(s, *slot(s, at), *slot(s, at + 1)) < 0);
}
#else
#define record_check(s, at) ((void)0)
#endif

/* Searches for the record with these keys. Returns 1 if it exists, 0 if not. *at: its position, or the position at
 * which it would be. */
static int find(const struct lunar_statement* s, const struct lunar_value* values, uint32_t* at) {
  uint32_t low = 0, high = s->batch.count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const int order = order_of(s, values, *slot(s, middle));
    *at = middle;
    if (!order) return 1;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  *at = low;
  return 0;
}

/* Returns 1 if a new record at this position was returned in an earlier pass, or belongs to a later pass; 0 if not. */
static int elsewhere(const struct ln_batch* b, uint32_t at) {
  return (b->bounded && at == 0) || (b->full && at == b->count);
}

int ln_batch_put(struct lunar_statement* s, const struct lunar_value* values) {
  struct ln_batch* b = &s->batch;
  uint32_t at;
  if (find(s, values, &at) || elsewhere(b, at)) return 0;
  sql_record r = NULL;
  while (b->count - b->bounded >= b->most || !(r = placed(s, values))) {
    if (b->count == b->bounded) return LUNAR_E_BUFFER;
    if (at == b->count) {
      b->full = 1;
      return 0;
    }
    drop_last(s);
  }
  memmove(slot(s, b->count), slot(s, b->count - 1), (b->count - at) * sizeof r);
  *slot(s, at) = r;
  b->count++;
  record_check(s, at);
  return 0;
}

/* Stores new aggregates of a group: in its record or, if a TEXT or BLOB has changed, in a new record behind the others.
 * Returns 0, E_BUFFER, or 1 if it has dropped the last group to make room: the caller tries again, because records may
 * have moved. */
static int replace(struct lunar_statement* s, uint32_t at, const struct lunar_value* values) {
  struct ln_batch* b = &s->batch;
  const sql_record old = *slot(s, at);
  int same = 1;
  for (uint32_t i = 0; i < b->width; i++)
    if (values[i].type >= LUNAR_TEXT) same &= values[i].type == old[i].type && values[i].as.data == old[i].as.data;
  if (same) {
    memcpy(old, values, b->width * sizeof *values);
    return 0;
  }
  const sql_record r = placed(s, values);
  if (!r) {
    drop_last(s);
    return b->count > b->bounded ? 1 : LUNAR_E_BUFFER;
  }
  *slot(s, at) = r;
  release(s, old);
  record_check(s, at);
  return 0;
}

int ln_batch_accumulate(struct lunar_statement* s) {
  struct ln_batch* b = &s->batch;
  struct lunar_value* sums = s->keys + b->keys;
  for (;;) {
    uint32_t at;
    if (s->group) s->keys[0] = s->row[s->group - 1];
    const int found = find(s, s->keys, &at);
    if (found ? b->bounded && at == 0 : elsewhere(b, at)) return 0;
    if (found)
      memcpy(s->keys, *slot(s, at), b->width * sizeof *s->keys);
    else
      ln_sql_accumulate_begin(s, sums);
    LN_TRY(ln_sql_accumulate(s, sums));
    const int error = found ? replace(s, at, s->keys) : ln_batch_put(s, s->keys);
    if (error <= 0) return error;
  }
}

int ln_batch_give_way(struct lunar_statement* s) {
  struct ln_batch* b = &s->batch;
  const uint8_t full = b->full;
  if (b->count > b->at) {
    drop_last(s);
    return 1;
  }
  if (b->at < 2) return 0;
  ln_batch_restart(s);
  b->full = full;
  return 1;
}

int ln_batch_take(struct lunar_statement* s) {
  struct ln_batch* b = &s->batch;
  b->filling = 0;
  if (b->at == b->count) return 0;
  b->at++;
  return 1;
}

const struct lunar_value* ln_batch_given(const struct lunar_statement* s) {
  LUNAR_ASSERT(s->batch.at > 0 && s->batch.at <= s->batch.count);
  return *slot(s, s->batch.at - 1);
}

uint8_t* ln_batch_room(const struct lunar_statement* s, size_t* bytes) {
  const size_t room = gap(s), before = s->batched && s->batch.filling ? room / 2 : 0;
  *bytes = room - before;
  return s->batch.used + before;
}

void ln_batch_begin(struct lunar_statement* s) {
  struct ln_batch* b = &s->batch;
  b->used = s->memory;
  b->count = b->at = b->bounded = b->full = 0;
}

void ln_batch_restart(struct lunar_statement* s) {
  struct ln_batch* b = &s->batch;
  LUNAR_ASSERT(b->at > 0 && b->at <= b->count);
  sql_record last = *slot(s, b->at - 1);
  const size_t bytes = bytes_of(s, last), down = (size_t)((uint8_t*)last - s->memory);
  memmove(s->memory, last, bytes);
  *slot(s, 0) = moved(s, last, down);
  b->used = s->memory + bytes;
  b->count = b->at = b->bounded = 1;
  b->full = 0;
}

#endif
