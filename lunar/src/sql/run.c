/* lunar_step: runs each kind of statement. */
#include "sql.h"

#if LUNAR_WITH_SQL

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
  LUNAR_ASSERT(s->kind <= LN_S_DELETE);
  s->left = UINT64_MAX;
  s->skip = 0;
  LN_TRY(constant(s, s->limit, &s->left));
  LN_TRY(constant(s, s->offset, &s->skip));
  s->batch.most = UINT32_MAX;
  if (!s->group && s->left < UINT32_MAX / 2 && s->skip < UINT32_MAX / 2) s->batch.most = (uint32_t)(s->left + s->skip);
  ln_batch_begin(s);
  s->batch.full = s->batched; /* the first pass is still to come */
  return s->batched ? 0 : ln_sql_rows_open(s);
}

/* Copies the values of a record to the row or, if from is NULL, the values of the row to the record in s->keys. */
static int record(struct lunar_statement* s, const struct lunar_value* from) {
  LUNAR_ASSERT(s->keys && s->row);
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

/* Fills the batch in one pass over the table. */
static int fill(struct lunar_statement* s) {
  int error = 0;
  const int groups = s->kind == LN_S_SELECT && (s->group || s->aggregate_count);
  if (s->batch.at) ln_batch_restart(s);
  s->batch.full = 0;
  s->batch.filling = 1;
  LN_TRY(ln_sql_rows_open(s));
  if (s->access == LN_A_COUNT) {
    uint64_t rows = 0;
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
  if (s->batch.full && s->batch.count == s->batch.bounded) return LUNAR_E_BUFFER; /* all were dropped for a large row */
  if (groups && !s->group && s->batch.count == 0) {
    ln_sql_accumulate_begin(s, s->keys);
    return ln_batch_put(s, s->keys);
  }
  return 0;
}

/* Reads the next row or group in the order of the result. E_NOT_FOUND: no more rows. */
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
  LUNAR_ASSERT(s->kind == LN_S_SELECT && s->results);
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

/* Called before each change. Before the first one, begins a transaction if the statement may make several changes and
 * no transaction is open. Mode none has no transactions. */
static int change(struct lunar_statement* s, int several) {
  if (s->decided || !several) return 0;
  const int error = lunar_begin(s->db);
  s->decided = 1;
  s->own = error == 0;
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
  if (s->db->state != LN_IN_TXN && s->db->state != LN_TXN_LOST) return error; /* the transaction has ended */
  const int failed = lunar_rollback(s->db);
  return failed ? failed : error;
}

/* Sets the message of a duplicate key. The token is the key, or empty for a BLOB. */
static int complain_of_key(struct lunar_statement* s) {
  struct lunar_value* key = &s->row[s->table.key];
  LUNAR_ASSERT(key->type != LUNAR_NULL);
  if (key->type == LUNAR_INT64) ln_sql_to_text(key, s->bound_bytes[0]);
  return ln_sql_complain(s, LUNAR_E_EXISTS, LN_C_KEY_EXISTS, key->as.data, key->type == LUNAR_TEXT ? key->bytes : 0);
}

static int insert(struct lunar_statement* s) {
  LUNAR_ASSERT(s->kind == LN_S_INSERT && s->rows);
  for (const struct ln_expr* r = s->rows; r; r = r->right) {
    for (uint32_t i = 0; i < s->table.column_count; i++) s->row[i] = (struct lunar_value){.type = LUNAR_NULL};
    for (const struct ln_expr* l = r->left; l; l = l->right) LN_TRY(ln_sql_eval(s, l->left, &s->row[l->number]));
    for (uint8_t i = 0; i < s->table.column_count; i++) LN_TRY(ln_sql_store_as(s, i, &s->row[i]));
    LN_TRY(change(s, s->rows->right != NULL));
    const int error = lunar_insert(&s->table, s->row);
    if (error) return error == LUNAR_E_EXISTS ? complain_of_key(s) : error;
    s->dirty = 1;
    s->changes++;
  }
  return 0;
}

static int set(struct lunar_statement* s) {
  LUNAR_ASSERT(s->kind == LN_S_UPDATE && s->results);
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

#if LUNAR_WITH_TRUNCATE
static int delete_all(struct lunar_statement* s) {
  uint64_t rows = 0;
  LN_TRY(lunar_count(&s->table, &rows));
  LN_TRY(lunar_truncate(&s->table));
  s->dirty = 1;
  s->changes = rows;
  return 0;
}
#endif

static int update_or_delete(struct lunar_statement* s) {
  int error = 0;
#if LUNAR_WITH_TRUNCATE
  if (s->kind == LN_S_DELETE && !s->where && !s->limit) return delete_all(s);
#endif
  LN_TRY(rows_begin(s));
  for (; s->left && (error = row_next(s)) == 0; s->left--) {
    if (s->kind == LN_S_UPDATE) {
      LN_TRY(set(s));
      continue;
    }
    LN_TRY(change(s, s->access != LN_A_GET));
    LN_TRY(lunar_remove(&s->table, &s->row[s->table.key]));
    s->dirty = 1;
    s->changes++;
  }
  return error == LUNAR_E_NOT_FOUND ? 0 : error;
}

/* --- tables --- */

/* Sets the message of an error about the name in the statement, and returns the error. */
static int complain_of_name(struct lunar_statement* s, int error, enum ln_complaint complaint, const char* name) {
  ln_sql_complain(s, error, error == LUNAR_E_EXISTS ? LN_C_NAME_EXISTS : complaint, name, strlen(name));
  s->message.position = s->position;
  return error;
}

static int create_table(struct lunar_statement* s) {
  int error = ln_sql_open(s, &s->table);
  if (!error)
    error = s->tolerant ? 0 : LUNAR_E_EXISTS;
  else if (error == LUNAR_E_NO_TABLE)
    error = lunar_table_create(s->db, s->name, s->schema);
  return error == LUNAR_E_EXISTS ? complain_of_name(s, error, LN_C_NONE, s->name) : error;
}

static int drop_table(struct lunar_statement* s) {
  const int error = ln_sql_open(s, &s->table);
  if (error) return error == LUNAR_E_NO_TABLE && s->tolerant ? 0 : error;
  return lunar_table_drop(s->db, s->name);
}

/* --- indexes --- */

#if LUNAR_WITH_SECONDARY
/* Searches all tables for an index with the name s->index, ignoring case, and sets s->index to the name found.
 * E_NO_TABLE: not found. */
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

static int create_index(struct lunar_statement* s) {
  const int error = find_index(s);
  if (error == LUNAR_E_NO_TABLE) return lunar_index_create(s->db, s->name, s->index, s->index_column, s->access);
  LN_TRY(error);
  return s->tolerant ? 0 : LUNAR_E_EXISTS;
}

static int drop_index(struct lunar_statement* s) {
  int error = lunar_index_drop(s->db, s->index);
  if (error != LUNAR_E_NO_TABLE) return error;
  error = find_index(s);
  if (error == LUNAR_E_NO_TABLE && s->tolerant) return 0;
  LN_TRY(error);
  return lunar_index_drop(s->db, s->index);
}
#else
static int create_index(const struct lunar_statement* s) {
  (void)s;
  return LUNAR_E_UNSUPPORTED;
}

static int drop_index(const struct lunar_statement* s) { return create_index(s); }
#endif

static int create_or_drop_index(struct lunar_statement* s) {
  const int creates = s->kind == LN_S_CREATE_INDEX, error = creates ? create_index(s) : drop_index(s);
  if (!error) return 0;
  return complain_of_name(s, error, error == LUNAR_E_NO_TABLE && !creates ? LN_C_INDEX : LN_C_NONE, s->index);
}

/* Compares the table with that of the prepared statement: it may have been dropped and created again since. Returns
 * E_SCHEMA if it differs. */
static int reopen_table(struct lunar_statement* s) {
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
  switch ((enum ln_statement)s->kind) {
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
    case LN_S_SELECT: /* select_step */
    case LN_S_ROLLBACK:
      break;
  }
  LUNAR_ASSERT(s->kind == LN_S_ROLLBACK);
  return lunar_rollback(s->db);
}

static int step(struct lunar_statement* s) {
  if (!s->running) {
    ln_sql_complain(s, 0, LN_C_NONE, "", 0);
    s->changes = 0;
    s->own = s->decided = s->dirty = 0;
    if (s->kind <= LN_S_CREATE_INDEX) LN_TRY(reopen_table(s));
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
  if (!ln_sql_is_prepared(s)) return LUNAR_E_INVALID;
  int result = step(s);
  /* The undo has ended with a checkpoint, so the log is empty now. */
  if (result == LUNAR_E_TXN_FULL && s->own && s->kind == LN_S_INSERT) result = step(s);
  if (result == LUNAR_E_NO_TABLE && s->running && s->index[0]) result = LUNAR_E_SCHEMA; /* the index was dropped */
  s->running = result == LUNAR_ROW;
  if (!s->running) lunar_cursor_close(&s->cursor);
  return ln_sql_failed(s, result);
}

#endif
