/* Statements from prepare to finalize. */
#include "sql.h"

#if LUNAR_WITH_SQL

int ln_sql_complain(struct lunar_statement* s, int error, enum ln_complaint complaint, const char* token,
                    size_t bytes) {
#if LUNAR_WITH_TEXTS
#define TEXT(name, words) words "\0"
  static const char texts[] = LN_COMPLAINTS(TEXT);
#undef TEXT
  const char* text = texts;
  while (complaint-- > 0) text += strlen(text) + 1;
#else
  const char* text = "";
  (void)complaint;
#endif
  s->message = (struct lunar_sql_message){.text = text, .token = token, .bytes = (uint32_t)bytes};
  return error;
}

/* Every error has a text. */
static LN_APART int told(struct lunar_statement* s, int error) {
  if (error < 0 && !s->message.text[0]) s->message.text = lunar_error_text(error);
  return error;
}

/* --- prepare --- */

int ln_sql_open(struct lunar_statement* s, struct lunar_table* table) {
  int error = lunar_table_open(s->db, s->name, table);
  uint16_t number = 0;
  char there[LUNAR_NAME_MAX + 1];
  if (error != LUNAR_E_NO_TABLE) return error;
  while ((error = lunar_table_list(s->db, &number, there)) == 0)
    if (ln_sql_same(s->name, (uint32_t)strlen(s->name), there, 0)) {
      memcpy(s->name, there, sizeof there);
      return lunar_table_open(s->db, s->name, table);
    }
  return error;
}

/* What is as wide as the statement needs it. */
static int take_arrays(struct lunar_statement* s) {
  if (s->explain) s->output_count = 1;
  const uint32_t columns = s->table.column_count, width = s->batch.width;
  const uint32_t values = s->parameter_count + columns + s->output_count + width;
  s->parameters = ln_sql_take(s, values * sizeof(struct lunar_value));
  if (!s->parameters) return LUNAR_E_BUFFER;
  s->row = s->parameters + s->parameter_count;
  s->keys = s->row + columns;
  s->results = s->keys + width;
  uint32_t i = 0;
  for (const struct ln_expr* l = s->order; l; l = l->right, i++) s->batch.descending |= (uint32_t)(l->number != 0) << i;
  return 0;
}

int lunar_prepare(struct lunar* db, const char* sql, size_t sql_bytes, void* memory, size_t memory_bytes,
                  struct lunar_statement** statement, const char** tail) {
  const size_t align = (size_t)(0 - (uintptr_t)memory) & 7;
  const char* behind = sql;
  if (statement) *statement = NULL;
  if (!db || !sql || !memory || !statement) return LUNAR_E_INVALID;
  struct lunar_statement* s = (struct lunar_statement*)(void*)((uint8_t*)memory + align);
  if (tail) *tail = sql;
  if (sql_bytes > UINT32_MAX / 2) return LUNAR_E_SQL;
  if (memory_bytes < align + sizeof *s + 8) return LUNAR_E_BUFFER;
  memset(s, 0, sizeof *s);
  s->db = db;
  ln_sql_complain(s, 0, LN_C_NONE, "", 0);
  s->memory = (uint8_t*)memory + align + ((sizeof *s + 7) & ~(size_t)7);
  s->end = (uint8_t*)memory + align + ((memory_bytes - align) & ~(size_t)7);
  int error = ln_sql_parse(s, sql, sql + sql_bytes, &behind);
  if (tail) *tail = behind;
  if (error == LUNAR_E_NOT_FOUND) return 0;
  *statement = s;
  if (!error && s->kind <= LN_S_DELETE) ln_sql_plan_records(s);
  if (!error) error = take_arrays(s);
  return told(s, error);
}

const struct lunar_sql_message* lunar_sql_error(const struct lunar_statement* statement) {
  static const struct lunar_sql_message none = {LN_WORDS("there is no statement: NULL"), "", 0, 0};
  return statement ? &statement->message : &none;
}

/* 1: it was prepared without an error. */
static int is_prepared(const struct lunar_statement* s) { return s && s->parameters; }

/* --- parameters --- */

static int value_sound(const struct lunar_value* value) {
  return value && value->type <= LUNAR_BLOB && (value->type < LUNAR_TEXT || value->as.data || value->bytes == 0);
}

int lunar_bind(struct lunar_statement* s, unsigned number, const struct lunar_value* value) {
  if (!is_prepared(s) || s->running || number == 0 || number > s->parameter_count || !value_sound(value))
    return LUNAR_E_INVALID;
  struct lunar_value* v = &s->parameters[number - 1];
  *v = *value;
  if (v->type >= LUNAR_INT8 && v->type <= LUNAR_INT64) v->type = LUNAR_INT64;
  if (v->type == LUNAR_REAL && v->as.real != v->as.real) v->type = LUNAR_NULL; /* as SQLite has no NaN */
  return 0;
}

unsigned lunar_bind_parameter_count(const struct lunar_statement* s) { return is_prepared(s) ? s->parameter_count : 0; }

unsigned lunar_bind_parameter_index(const struct lunar_statement* s, const char* name) {
  if (!is_prepared(s) || !name) return 0;
  for (const struct ln_parameter_name* n = s->parameter_names; n; n = n->next)
    if (ln_sql_same(n->name, n->bytes, name, 1)) return n->number;
  return 0;
}

/* --- rows of a SELECT --- */

static int constant(struct lunar_statement* s, const struct ln_expr* e, uint64_t* number) {
  struct lunar_value value;
  if (!e) return 0;
  LN_TRY(ln_sql_eval(s, e, &value));
  ln_sql_to_integer(&value);
  if (value.type != LUNAR_INT64) return ln_sql_complain(s, LUNAR_E_INVALID, LN_C_WHOLE, "LIMIT", 5);
  if (value.as.integer >= 0) *number = (uint64_t)value.as.integer;
  return 0;
}

static int rows_begin(struct lunar_statement* s) {
  s->left = UINT64_MAX, s->skip = 0;
  LN_TRY(constant(s, s->limit, &s->left));
  LN_TRY(constant(s, s->offset, &s->skip));
  s->batch.most = UINT32_MAX;
  if (!s->group && s->left < UINT32_MAX / 2 && s->skip < UINT32_MAX / 2) s->batch.most = (uint32_t)(s->left + s->skip);
  ln_batch_begin(s);
  s->batch.full = s->batched; /* nothing was read yet */
  return s->batched ? 0 : ln_sql_rows_open(s);
}

/* A record's values into or out of the row. */
static int record(struct lunar_statement* s, const struct lunar_value* from) {
  uint32_t i = 0;
  for (const struct ln_expr* l = s->order; l; l = l->right, i++) {
    if (!from)
      LN_TRY(ln_sql_eval(s, l->left, &s->keys[i]));
    else if (l->left->op == LN_X_COLUMN)
      s->row[l->left->number] = from[i];
  }
  for (uint32_t c = s->table.key, next = 0; c < s->table.column_count; c = next++) { /* the key, then the others */
    if (c == s->table.key ? next != 0 : !(s->carried >> c & 1)) continue;
    if (from)
      s->row[c] = from[i++];
    else
      s->keys[i++] = s->row[c];
  }
  return 0;
}

/* One pass over the table. */
static int fill(struct lunar_statement* s) {
  int error = 0;
  const int groups = s->kind == LN_S_SELECT && (s->group || s->aggregate_count);
  if (s->batch.at) ln_batch_again(s);
  s->batch.full = 0, s->batch.filling = 1;
  LN_TRY(ln_sql_rows_open(s));
  if (s->access == LN_A_COUNT) {
    uint64_t rows;
    LN_TRY(lunar_count(&s->table, &rows));
    for (uint32_t i = 0; i < s->aggregate_count; i++) {
      s->keys[i] = (struct lunar_value){.type = LUNAR_INT64};
      s->keys[i].as.integer = (int64_t)rows;
    }
    return ln_batch_put(s, s->keys);
  }
  while (!error && (error = ln_sql_row_next(s)) == 0) {
    if (groups) {
      error = ln_batch_accumulate(s);
      continue;
    }
    error = record(s, NULL);
    if (!error) error = ln_batch_put(s, s->keys);
  }
  if (error != LUNAR_E_NOT_FOUND) return error;
  if (s->batch.full && s->batch.count == s->batch.bounded) return LUNAR_E_BUFFER; /* all made way for a large row */
  if (groups && !s->group && s->batch.count == 0) {
    ln_sql_accumulate_begin(s, s->keys);
    return ln_batch_put(s, s->keys);
  }
  return 0;
}

/* The next row, or group, in the wanted order. */
static int row_next(struct lunar_statement* s) {
  if (!s->batched) return ln_sql_row_next(s);
  for (;;) {
    if (!ln_batch_take(s)) {
      if (!s->batch.full) return LUNAR_E_NOT_FOUND;
      LN_TRY(fill(s));
      continue;
    }
    if (s->kind == LN_S_SELECT && (s->group || s->aggregate_count)) {
      memcpy(s->keys, ln_batch_given(s), s->batch.width * sizeof *s->keys);
      if (s->group) s->row[s->group - 1] = s->keys[0];
      return 0;
    }
    if (!s->looked_up) return record(s, ln_batch_given(s));
    const int error = ln_sql_row_read(s, 1);
    if (error != LUNAR_E_NOT_FOUND) return error;
  }
}

static int select_step(struct lunar_statement* s) {
  int error = 0;
  if (s->left == 0) return 0;
  do error = row_next(s);
  while (!error && s->skip && s->skip--);
  if (error) return error == LUNAR_E_NOT_FOUND ? 0 : error;
  s->left--;
  uint32_t i = 0;
  for (const struct ln_expr* l = s->outputs; l; l = l->right) LN_TRY(ln_sql_eval(s, l->left, &s->results[i++]));
  return LUNAR_ROW;
}

/* --- changes --- */

/* Before the first change: a statement of several has a transaction. */
static int change(struct lunar_statement* s, int several) {
  if (s->decided || !several) return 0;
  const int error = lunar_begin(s->db);
  s->decided = 1, s->own = error == 0;
  return error == LUNAR_E_UNSUPPORTED || (error == LUNAR_E_TXN && s->db->state == LN_IN_TXN) ? 0 : error;
}

static int lose(struct lunar* db, int error) {
  LN_TRY(ln_enter_for_commit(db));
  return ln_leave(db, db->state == LN_IN_TXN ? ln_undo(db, error) : error);
}

static int change_end(struct lunar_statement* s, int error) {
  if (!error && s->own) error = lunar_commit(s->db);
  if (!error) return 0;
  if (s->db->state == LN_BROKEN) s->changes = 0;
  if (!s->own && !(s->dirty && s->db->state == LN_IN_TXN)) return error;
  s->changes = 0;
  if (!s->own) return lose(s->db, error);
  if (s->db->state != LN_IN_TXN && s->db->state != LN_TXN_LOST) return error; /* it has ended */
  const int failed = lunar_rollback(s->db);
  return failed ? failed : error;
}

static int insert(struct lunar_statement* s) {
  for (const struct ln_expr* r = s->rows; r; r = r->right) {
    for (uint32_t i = 0; i < s->table.column_count; i++) s->row[i] = (struct lunar_value){.type = LUNAR_NULL};
    for (const struct ln_expr* l = r->left; l; l = l->right) LN_TRY(ln_sql_eval(s, l->left, &s->row[l->number]));
    for (uint8_t i = 0; i < s->table.column_count; i++) LN_TRY(ln_sql_store_as(s, i, &s->row[i]));
    LN_TRY(change(s, s->rows->right != NULL));
    LN_TRY(lunar_insert(&s->table, s->row));
    s->dirty = 1, s->changes++;
  }
  return 0;
}

static int set(struct lunar_statement* s) {
  uint32_t i = 0;
  const struct lunar_value key = s->row[s->table.key];
  for (const struct ln_expr* l = s->rows; l; l = l->right, i++) {
    LN_TRY(ln_sql_eval(s, l->left, &s->results[i]));
    LN_TRY(ln_sql_store_as(s, l->number, &s->results[i]));
  }
  LN_TRY(change(s, s->access != LN_A_GET || s->rows->right));
  i = 0;
  for (const struct ln_expr* l = s->rows; l; l = l->right) {
    LN_TRY(lunar_update(&s->table, &key, l->number, &s->results[i++]));
    s->dirty = 1;
  }
  s->changes++;
  return 0;
}

static int update_or_delete(struct lunar_statement* s) {
  int error;
  LN_TRY(rows_begin(s));
  while ((error = row_next(s)) == 0) {
    if (s->kind == LN_S_UPDATE) {
      LN_TRY(set(s));
      continue;
    }
    LN_TRY(change(s, s->access != LN_A_GET));
    LN_TRY(lunar_remove(&s->table, &s->row[s->table.key]));
    s->dirty = 1, s->changes++;
  }
  return error == LUNAR_E_NOT_FOUND ? 0 : error;
}

/* --- tables --- */

static int create_table(struct lunar_statement* s) {
  int error = ln_sql_open(s, &s->table);
  if (error == LUNAR_E_NO_TABLE) return lunar_table_create(s->db, s->name, s->schema);
  return error ? error : s->tolerant ? 0 : LUNAR_E_EXISTS;
}

static int drop_table(struct lunar_statement* s) {
  const int error = ln_sql_open(s, &s->table);
  if (error) return error == LUNAR_E_NO_TABLE && s->tolerant ? 0 : error;
  return lunar_table_drop(s->db, s->name);
}

/* --- indexes --- */

#if LUNAR_WITH_SECONDARY
/* One of s->index's name, or with the letters of another case, which it has then. E_NO_TABLE: there is none. */
static int find_index(struct lunar_statement* s) {
  struct lunar_table table;
  struct lunar_index_info info;
  char name[LUNAR_NAME_MAX + 1];
  uint16_t number = 0;
  for (;;) {
    int error;
    LN_TRY(lunar_table_list(s->db, &number, name));
    LN_TRY(lunar_table_open(s->db, name, &table));
    for (uint8_t at = 0; (error = lunar_index_list(&table, &at, &info)) == 0;)
      if (ln_sql_same(s->index, (uint32_t)strlen(s->index), info.name, 0)) {
        memcpy(s->index, info.name, sizeof info.name);
        return 0;
      }
    if (error != LUNAR_E_NOT_FOUND) return error;
  }
}

static int change_index(struct lunar_statement* s, int creates) {
  int error = creates ? LUNAR_E_NO_TABLE : lunar_index_drop(s->db, s->index);
  if (error != LUNAR_E_NO_TABLE) return error;
  error = find_index(s);
  if (error == (creates ? 0 : LUNAR_E_NO_TABLE)) return s->tolerant ? 0 : creates ? LUNAR_E_EXISTS : error;
  if (error == LUNAR_E_NO_TABLE) return lunar_index_create(s->db, s->name, s->index, s->index_column, s->access);
  return error ? error : lunar_index_drop(s->db, s->index);
}
#else
static int change_index(const struct lunar_statement* s, int creates) {
  return (void)s, (void)creates, LUNAR_E_UNSUPPORTED;
}
#endif

/* The index's name and its place go with the error. */
static int create_or_drop_index(struct lunar_statement* s) {
  const int creates = s->kind == LN_S_CREATE_INDEX, error = change_index(s, creates);
  if (!error) return 0;
  ln_sql_complain(s, error, error == LUNAR_E_NO_TABLE && !creates ? LN_C_INDEX : LN_C_NONE, s->index, strlen(s->index));
  s->message.position = s->position;
  return error;
}

/* The table may have been dropped, and made anew, since the statement was prepared. */
static int table_again(struct lunar_statement* s) {
  struct lunar_table now;
  const struct lunar_table* was = &s->table;
  LN_TRY(lunar_table_open(s->db, s->name, &now));
  const int same = now.number == was->number && now.column_count == was->column_count && now.key == was->key &&
                   now.index == was->index && memcmp(now.types, was->types, sizeof now.types) == 0 &&
                   memcmp(now.flags, was->flags, sizeof now.flags) == 0;
  return same ? 0 : LUNAR_E_SCHEMA;
}

/* --- step --- */

static int run(struct lunar_statement* s) {
  switch (s->kind) {
    case LN_S_UPDATE:
    case LN_S_DELETE:
      return change_end(s, update_or_delete(s));
    case LN_S_INSERT:
      return change_end(s, insert(s));
    case LN_S_CREATE_TABLE:
      return create_table(s);
    case LN_S_DROP_TABLE:
      return drop_table(s);
    case LN_S_CREATE_INDEX:
    case LN_S_DROP_INDEX:
      return create_or_drop_index(s);
    case LN_S_BEGIN:
      return lunar_begin(s->db);
    case LN_S_COMMIT:
      return lunar_commit(s->db);
  }
  return lunar_rollback(s->db);
}

static int step(struct lunar_statement* s) {
  if (!s->running) {
    ln_sql_complain(s, 0, LN_C_NONE, "", 0);
    s->changes = 0, s->own = s->decided = s->dirty = 0;
    if (s->kind <= LN_S_CREATE_INDEX) LN_TRY(table_again(s));
    if (s->kind <= LN_S_DELETE) LN_TRY(ln_sql_plan(s));
    if (s->kind == LN_S_SELECT && !s->explain) LN_TRY(rows_begin(s));
  }
  if (s->explain) {
    ln_sql_explain(s);
    return s->running ? LUNAR_DONE : LUNAR_ROW;
  }
  return s->kind == LN_S_SELECT ? select_step(s) : run(s);
}

int lunar_step(struct lunar_statement* s) {
  if (!is_prepared(s)) return LUNAR_E_INVALID;
  int result = step(s);
  /* The way back ended with a checkpoint: now the log has nothing else. */
  if (result == LUNAR_E_TXN_FULL && s->own && s->kind == LN_S_INSERT) result = step(s);
  if (result == LUNAR_E_NO_TABLE && s->running && s->index[0]) result = LUNAR_E_SCHEMA; /* the index is gone */
  s->running = result == LUNAR_ROW;
  return told(s, result);
}

uint64_t lunar_changes(const struct lunar_statement* s) { return s ? s->changes : 0; }

/* --- columns --- */

unsigned lunar_column_count(const struct lunar_statement* s) {
  return is_prepared(s) && (s->kind == LN_S_SELECT || s->explain) ? s->output_count : 0;
}

const char* lunar_column_name(const struct lunar_statement* s, unsigned column) {
  if (column >= lunar_column_count(s)) return NULL;
  if (s->explain) return "plan";
  const struct ln_expr* l = s->outputs;
  while (column--) l = l->right;
  return l->name;
}

const struct lunar_value* lunar_column_value(const struct lunar_statement* s, unsigned column) {
  static const struct lunar_value null = {.type = LUNAR_NULL};
  return s && s->running && column < s->output_count ? &s->results[column] : &null;
}

void lunar_reset(struct lunar_statement* s) {
  if (s) s->running = 0;
}

void lunar_finalize(struct lunar_statement* s) { lunar_reset(s); }

#endif
