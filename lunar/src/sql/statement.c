/* Statements from lunar_prepare to lunar_finalize, except lunar_step (run.c). */
#include "sql.h"

#if LUNAR_WITH_SQL

int ln_sql_complain(struct lunar_statement* s, int error, enum ln_complaint complaint, const char* token,
                    size_t bytes) {
  LUNAR_ASSERT(token || bytes == 0);
#if LUNAR_WITH_TEXTS
#define TEXT(name, text) text "\0"
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

int ln_sql_failed(struct lunar_statement* s, int error) {
  if (error < 0 && !s->message.text[0]) s->message.text = lunar_error_text(error);
  return error;
}

/* --- prepare --- */

int ln_sql_open(struct lunar_statement* s, struct lunar_table* table) {
  LUNAR_ASSERT(memchr(s->name, 0, sizeof s->name));
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

/* Takes memory for the parameters, the row, the record in s->keys, and the results. */
static int take_arrays(struct lunar_statement* s) {
  LUNAR_ASSERT(s->parameters == NULL);
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
  return ln_sql_failed(s, error);
}

const struct lunar_sql_message* lunar_sql_error(const struct lunar_statement* statement) {
  static const struct lunar_sql_message none = {LN_WORDS("there is no statement: NULL"), "", 0, 0};
  return statement ? &statement->message : &none;
}

/* --- parameters --- */

static int value_sound(const struct lunar_value* value) {
  return value && value->type <= LUNAR_BLOB && (value->type < LUNAR_TEXT || value->as.data || value->bytes == 0);
}

int lunar_bind(struct lunar_statement* s, unsigned number, const struct lunar_value* value) {
  if (!ln_sql_is_prepared(s) || s->running || number == 0 || number > s->parameter_count || !value_sound(value))
    return LUNAR_E_INVALID;
  struct lunar_value* v = &s->parameters[number - 1];
  *v = *value;
  if (v->type >= LUNAR_INT8 && v->type <= LUNAR_INT64) v->type = LUNAR_INT64;
  if (v->type == LUNAR_REAL && v->as.real != v->as.real) v->type = LUNAR_NULL; /* as in SQLite */
  return 0;
}

unsigned lunar_bind_parameter_count(const struct lunar_statement* s) {
  return ln_sql_is_prepared(s) ? s->parameter_count : 0;
}

unsigned lunar_bind_parameter_index(const struct lunar_statement* s, const char* name) {
  if (!ln_sql_is_prepared(s) || !name) return 0;
  for (const struct ln_parameter_name* n = s->parameter_names; n; n = n->next)
    if (ln_sql_same(n->name, n->bytes, name, 1)) return n->number;
  return 0;
}

uint64_t lunar_changes(const struct lunar_statement* s) { return s ? s->changes : 0; }

/* --- columns --- */

unsigned lunar_column_count(const struct lunar_statement* s) {
  return ln_sql_is_prepared(s) && (s->kind == LN_S_SELECT || s->explain) ? s->output_count : 0;
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
  if (!s) return;
  s->running = 0;
  lunar_cursor_close(&s->cursor);
}

void lunar_finalize(struct lunar_statement* s) { lunar_reset(s); }

#endif
