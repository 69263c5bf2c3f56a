/* Chooses the access path of a statement and reads its rows. Only ln_sql_plan chooses: docs/SQL.md, "Access paths". */
#include "sql.h"

#if LUNAR_WITH_SQL

static int is_column(const struct ln_expr* e, uint8_t column) { return e->op == LN_X_COLUMN && e->number == column; }

/* Returns the value of a constant, or of the first constant in a list. */
static const struct lunar_value* constant(const struct lunar_statement* s, const struct ln_expr* e) {
  if (e->op == LN_X_LINK) e = e->left;
  LUNAR_ASSERT(ln_sql_is_constant(e) && (e->op == LN_X_VALUE || e->number <= s->parameter_count));
  return e->op == LN_X_VALUE ? &e->value : &s->parameters[e->number - 1];
}

/* LIKE ignores case, an index does not. So there is one range for each combination of cases of the pattern's first two
 * letters. Within a range, the other letters go from upper to lower case. Stores the bounds of one range in
 * bound_bytes, and the number of ranges in *ranges. Returns the length of the bounds, 0 if the pattern begins with a
 * wildcard or is no TEXT. */
static uint32_t like_range(struct lunar_statement* s, const struct lunar_value* pattern, uint32_t range,
                           uint8_t* ranges) {
  LUNAR_ASSERT(ranges);
  enum { LETTERS = 2 };
  const uint8_t* p = pattern->as.data;
  uint32_t n = 0, letters = 0;
  for (; pattern->type == LUNAR_TEXT && n < pattern->bytes && n < sizeof s->bound_bytes[0]; n++) {
    uint8_t low = p[n], high = p[n];
    if (low == '%' || low == '_' || low == 0xff) break;
    if ((low | 32) >= 'a' && (low | 32) <= 'z') {
      low = low | 32;
      high = low & (uint8_t)~32u;
      if (letters < LETTERS) low = high = range >> letters++ & 1 ? low : high;
    }
    s->bound_bytes[0][n] = (char)high;
    s->bound_bytes[1][n] = (char)low;
  }
  *ranges = (uint8_t)(1u << letters);
  if (n) s->bound_bytes[1][n - 1]++; /* the upper bound lies behind all texts of the range */
  return n;
}

/* Returns 1 if e is a comparison of its left with its right by which an index can find rows, 0 if not. */
static int finds_rows(const struct ln_expr* e) {
  switch ((enum ln_op)e->op) {
    case LN_X_EQ:
    case LN_X_LT:
    case LN_X_LE:
    case LN_X_GT:
    case LN_X_GE:
    case LN_X_IS:
    case LN_X_IN:
    case LN_X_LIKE:
      return 1;
    case LN_X_VALUE:
    case LN_X_PARAMETER:
    case LN_X_COLUMN:
    case LN_X_AGGREGATE:
    case LN_X_LINK:
    case LN_X_MINUS:
    case LN_X_AND:
    case LN_X_OR:
    case LN_X_SUM:
    case LN_X_NOT:
    case LN_X_NEGATE:
    case LN_X_NE:
      break;
  }
  return 0;
}

/* Sets the constants of a path to those with which WHERE compares the column, in terms that must all be true. */
static void bounds(struct lunar_statement* s, const struct ln_expr* e, struct ln_path* path) {
  const struct ln_expr* value = e->right;
  LUNAR_ASSERT(path->column < s->table.column_count);
  if (e->op == LN_X_AND) {
    bounds(s, e->left, path);
    for (; value; value = value->right) bounds(s, value->left, path);
    return;
  }
  if (!finds_rows(e)) return;
  if (e->op == LN_X_IN) {
    if (!is_column(e->left, path->column) || (path->values && ln_sql_is_constant(path->values))) return;
    while (value && ln_sql_is_constant(value->left)) value = value->right;
    if (!value) path->values = e->right;
    return;
  }
  const int mirrored = is_column(value, path->column);
  if (mirrored) value = e->left;
  if (!is_column(mirrored ? e->right : e->left, path->column) || !ln_sql_is_constant(value)) return;
  if (e->op == LN_X_LIKE) {
    uint8_t ranges;
    if (!mirrored && s->table.types[path->column] == LUNAR_TEXT && like_range(s, constant(s, value), 0, &ranges)) {
      path->from = value;
      path->like = ranges;
    }
  } else if (e->op == LN_X_EQ || e->op == LN_X_IS) {
    path->values = value;
    path->is = e->op == LN_X_IS;
  } else if ((e->op == LN_X_GT || e->op == LN_X_GE) == mirrored) {
    path->to = value;
  } else if (!path->like) {
    path->from = value;
  }
}

/* A sort record has the sort keys, the primary key, and the numbers that the result needs. If the result needs TEXT or
 * BLOB, the record has only the keys, and the row is read again. The record of a group has the column of GROUP BY and
 * the aggregates. */
void ln_sql_plan_records(struct lunar_statement* s) {
  LUNAR_ASSERT(s->kind <= LN_S_DELETE);
  if (s->aggregate_count || s->group) {
    s->batch.keys = s->group != 0;
    s->batch.width = (uint8_t)(s->batch.keys + s->aggregate_count);
    return;
  }
  uint32_t known = 1u << s->table.key;
  for (const struct ln_expr* l = s->order; l; l = l->right)
    if (l->left->op == LN_X_COLUMN) known |= 1u << l->left->number;
  s->carried = (uint16_t)(s->used & ~known);
  s->looked_up = s->kind == LN_S_UPDATE;
  s->batch.keys = s->batch.width = (uint8_t)(s->order_count + 1);
  for (uint32_t i = 0; i < s->table.column_count; i++) {
    if (!(s->carried >> i & 1)) continue;
    s->looked_up |= s->table.types[i] >= LUNAR_TEXT;
    s->batch.width++;
  }
  if (s->looked_up) {
    s->carried = 0;
    s->batch.width = s->batch.keys;
  }
}

/* Returns the rank of a path: 4 for one value, 3 for several values, 2 for a range, 1 for an order, 0 for every row. */
static int rank_of(const struct ln_path* path, int range, int ordered) {
  if (path->values) return 3 + ln_sql_is_constant(path->values);
  return range ? 2 : ordered;
}

static enum ln_access access_of(const struct ln_path* path, int range, int primary) {
  if (path->values) return ln_sql_is_constant(path->values) && primary ? LN_A_GET : LN_A_VALUES;
  return range ? LN_A_RANGE : LN_A_SCAN;
}

/* Chooses the path by this index if its rank is higher than that of the best path so far. Of two paths with the same
 * rank_of, the one by the primary index, whose name is empty, has the higher rank. How many rows a value or a range has
 * is not known. */
static void consider(struct lunar_statement* s, const struct lunar_index_info* index, uint8_t* best) {
  LUNAR_ASSERT(index->column < s->table.column_count);
  const int tree = index->kind == LUNAR_INDEX_TREE, primary = !index->name[0];
  const uint8_t column = index->column;
  const struct ln_expr* first = s->group || s->aggregate_count || !s->order ? NULL : s->order->left;
  struct ln_path path = {.column = column};
  if (s->where) bounds(s, s->where, &path);
  const int number = s->table.types[column] < LUNAR_TEXT; /* of a text, the index may have only the beginning */
  const int one = path.values && ln_sql_is_constant(path.values);
  const int range = !path.values && tree && (path.from || path.to);
  int ordered = first && tree && !path.values && !path.like && is_column(first, column) &&
                (primary || (number && s->order_count == 1));
  const uint8_t rank = (uint8_t)(2 * rank_of(&path, range, ordered) + primary);
  if (rank <= *best) return;
  /* A tree returns rows with the same value in the order of the primary key if that is a number. */
  if (tree && one && first && s->table.types[s->table.key] < LUNAR_TEXT) ordered = is_column(first, s->table.key);
  *best = rank;
  s->access = (uint8_t)access_of(&path, range, primary);
  s->path = path;
  s->ordered = ordered != 0;
  memcpy(s->index, index->name, sizeof s->index);
}

int ln_sql_plan(struct lunar_statement* s) {
  LUNAR_ASSERT(s->kind <= LN_S_DELETE);
  struct lunar_index_info index = {.column = s->table.key, .kind = s->table.index};
  uint8_t best = 0;
  int counted = s->kind == LN_S_SELECT && s->aggregate_count && !s->where && !s->group;
  for (const struct ln_expr* l = s->aggregates; l; l = l->right)
    counted &= l->left->function == LN_K_COUNT && !l->left->left;
  consider(s, &index, &best);
  if (counted) s->access = LN_A_COUNT;
#if LUNAR_WITH_SECONDARY
  int error = 0;
  for (uint8_t at = 0; s->access != LN_A_GET && (s->where || s->order);) {
    if ((error = lunar_index_list(&s->table, &at, &index)) != 0) break;
    consider(s, &index, &best);
  }
  if (error && error != LUNAR_E_NOT_FOUND) return error;
#endif
  s->descending = s->ordered && s->order->number;
  /* An update may move a row to a place that the scan has yet to read, and the row would be updated twice. A cursor in
   * the order of the primary key is not affected. */
  int moves = 0;
  if (s->kind == LN_S_UPDATE)
    for (const struct ln_expr* l = s->rows; l; l = l->right)
      moves |= s->table.types[l->number] >= LUNAR_TEXT || !(s->table.flags[l->number] & LUNAR_NOT_NULL);
  const int collected =
      s->index[0] ? s->kind != LN_S_SELECT : moves && s->access == LN_A_SCAN && s->table.index != LUNAR_INDEX_TREE;
  s->batched = s->aggregate_count || s->group || (s->access != LN_A_GET && ((s->order && !s->ordered) || collected));
  return 0;
}

/* Converts a constant to the type of the path's column, if a value of this type can be equal to it. text: memory for
 * an integer that becomes TEXT. */
static void column_value(const struct lunar_statement* s, const struct ln_expr* e, struct lunar_value* v, char* text) {
  LUNAR_ASSERT(s->path.column < s->table.column_count);
  const uint8_t type = s->table.types[s->path.column];
  *v = *constant(s, e);
  if (type == LUNAR_TEXT) ln_sql_to_text(v, text);
  if (type < LUNAR_TEXT) ln_sql_to_number(v);
  /* This REAL cannot be stored as an integer, as in SQLite. Yet a comparison finds it equal to the least integer. */
  if (type <= LUNAR_INT64 && v->type == LUNAR_REAL && v->as.real == -9223372036854775808.0) {
    v->type = LUNAR_INT64;
    v->as.integer = INT64_MIN;
  }
  ln_sql_convert(type, v); /* a REAL column: the nearest REAL */
}

static int cursor_open(struct lunar_statement* s, const struct lunar_value* from, const struct lunar_value* to) {
  lunar_cursor_close(&s->cursor);
#if LUNAR_WITH_SECONDARY
  if (s->index[0]) return lunar_index_cursor(&s->cursor, &s->table, s->index, from, to, s->descending);
#endif
  return lunar_cursor_open(&s->cursor, &s->table, from, to, s->descending);
}

/* Returns 1 if the error means that the column cannot have the value, so that no row has it; 0 if not. */
static int no_row(int error) { return error == LUNAR_E_INVALID || error == LUNAR_E_TOO_LARGE; }

/* Goes to the rows of the next value of =, IS or IN, or of the next range of LIKE. Sets s->ended if there is no next
 * one. */
static int advance(struct lunar_statement* s) {
  struct lunar_value v, other;
  if (s->cases) {
    uint8_t ranges;
    v = (struct lunar_value){.type = LUNAR_TEXT};
    v.bytes = like_range(s, constant(s, s->path.from), --s->cases, &ranges);
    other = v;
    v.as.data = s->bound_bytes[0];
    other.as.data = s->bound_bytes[1];
    return cursor_open(s, &v, &other);
  }
  while (s->at) {
    const struct ln_expr *here = s->at, *before = s->path.values;
    s->at = ln_sql_is_constant(here) ? NULL : here->right;
    column_value(s, here, &v, s->bound_bytes[0]);
    if (v.type == LUNAR_NULL && !s->path.is) continue;
    for (; before != here; before = before->right) {
      column_value(s, before, &other, s->bound_bytes[1]);
      if (ln_sql_compare(&v, &other) == 0) break;
    }
    if (before != here) continue; /* the same value again: its rows were read */
    const int error = s->index[0] ? cursor_open(s, &v, &v) : 0;
    if (!s->index[0]) s->cursor.from = v;
    if (!no_row(error)) return error;
  }
  s->ended = 1;
  return 0;
}

/* Goes to the first row of the path. Leaves out a bound that the cursor does not accept: WHERE tests the additional
 * rows. */
int ln_sql_rows_open(struct lunar_statement* s) {
  struct lunar_value values[2];
  const struct lunar_value* bounds[2] = {NULL, NULL};
  s->ended = 0;
  s->at = s->path.values;
  s->cases = s->access == LN_A_RANGE ? s->path.like : 0;
  if (s->at || s->cases) return advance(s);
  for (uint32_t i = 0; i < 2 && s->access == LN_A_RANGE; i++) {
    const struct ln_expr* bound = i ? s->path.to : s->path.from;
    if (!bound) continue;
    column_value(s, bound, &values[i], s->bound_bytes[i]);
    if (ln_value_check(s->table.types[s->path.column], LUNAR_NOT_NULL, &values[i]) == 0) bounds[i] = &values[i];
    if (values[i].type == LUNAR_NULL) s->ended = 1;
  }
  for (;;) {
    const int error = cursor_open(s, bounds[0], bounds[1]);
    if (!no_row(error) || (!bounds[0] && !bounds[1])) return error;
    bounds[0] = bounds[1] = NULL;
  }
}

/* Returns 1 if the path reads each row by its primary key, 0 if not. */
static int by_key(const struct lunar_statement* s) { return s->path.values && !s->index[0]; }

int ln_sql_row_read(struct lunar_statement* s, int again) {
  for (;;) {
    size_t bytes;
    const struct lunar_value* key = by_key(s) ? &s->cursor.from : NULL;
    if (again) key = ln_batch_given(s) + s->order_count; /* ln_batch_give_way may have moved it */
    uint8_t* row = ln_batch_room(s, &bytes);
    const int error =
        key ? lunar_get(&s->table, key, row, bytes, s->row) : lunar_cursor_next(&s->cursor, row, bytes, s->row);
    if (error != LUNAR_E_BUFFER || !s->batched || !ln_batch_give_way(s))
      return key && no_row(error) ? LUNAR_E_NOT_FOUND : error;
  }
}

int ln_sql_row_next(struct lunar_statement* s) {
  LUNAR_ASSERT(s->kind <= LN_S_DELETE);
  struct lunar_value truth;
  while (!s->ended) {
    const int error = ln_sql_row_read(s, 0);
    if (error == LUNAR_E_NOT_FOUND || (!error && by_key(s))) LN_TRY(advance(s));
    if (error == LUNAR_E_NOT_FOUND) continue;
    LN_TRY(error);
    if (!s->where) return 0;
    LN_TRY(ln_sql_eval(s, s->where, &truth));
    if (ln_sql_truth(&truth) == 1) return 0;
  }
  return LUNAR_E_NOT_FOUND;
}

/* --- EXPLAIN --- */

static void say(struct lunar_statement* s, const char* text) {
  struct lunar_value* line = &s->results[0];
  const size_t bytes = strlen(text), room = (size_t)(s->end - s->memory) - line->bytes;
  if (bytes > room) return;
  memcpy(s->memory + line->bytes, text, bytes);
  line->bytes += (uint32_t)bytes;
}

/* Returns the access path as text. */
static const char* path_text(const struct lunar_statement* s) {
  switch ((enum ln_access)s->access) {
    case LN_A_SCAN:
      return LN_WORDS(": every row");
    case LN_A_RANGE:
      return LN_WORDS(": a range of ");
    case LN_A_GET:
      return LN_WORDS(": one row by ");
    case LN_A_COUNT:
      return LN_WORDS(": its number of rows");
    case LN_A_VALUES:
      break;
  }
  return ln_sql_is_constant(s->path.values) ? LN_WORDS(": one value of ") : LN_WORDS(": some values of ");
}

/* Returns the purpose of the batch as text. */
static const char* batch_text(const struct lunar_statement* s) {
  if (s->kind != LN_S_SELECT) return LN_WORDS("; keys collected before a change");
  if (s->group) return LN_WORDS("; grouped");
  return s->aggregate_count ? LN_WORDS("; made one row") : LN_WORDS("; sorted");
}

void ln_sql_explain(struct lunar_statement* s) {
  LUNAR_ASSERT(s->explain && s->results);
  const int secondary = s->index[0] != 0, every = s->access == LN_A_SCAN;
  s->results[0] = (struct lunar_value){.type = LUNAR_TEXT};
  s->results[0].as.data = s->memory;
  say(s, s->name);
  say(s, path_text(s));
  if (!every && s->access != LN_A_COUNT) {
    if (!secondary) say(s, LN_WORDS("the key "));
    say(s, s->columns[s->path.column].name);
  }
  if (secondary) {
    say(s, LN_WORDS(" by the index "));
    say(s, s->index);
  }
  if (secondary ? s->ordered
                : s->table.index == LUNAR_INDEX_TREE && (every || (s->access == LN_A_RANGE && !s->path.like)))
    say(s, s->descending ? LN_WORDS(", last first") : LN_WORDS(", in order"));
  if (s->where) say(s, LN_WORDS("; tested by WHERE"));
  if (!s->batched || s->access == LN_A_COUNT) return;
  say(s, batch_text(s));
  if (s->group || !s->aggregate_count) say(s, LN_WORDS(" in memory, in several passes where it is short"));
}

#endif
