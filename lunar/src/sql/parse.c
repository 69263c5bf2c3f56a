/* The parser; docs/SQL.md has the grammar. After the first error, every token is the end of the text and every new node
 * is the same dummy node, so that most functions need not handle errors.
 */
#include "sql.h"

#if LUNAR_WITH_SQL

struct parser {
  struct lunar_statement* s;
  const char *sql, *end;
  struct ln_token token;
  int error;
  uint8_t nesting;
  uint8_t columns, aggregates; /* 1: allowed in this clause */
  uint16_t bare;               /* columns outside aggregates, a bit each */
  const char* bare_at;         /* the first of these columns in the text */
  struct ln_expr** aggregates_end;
  struct ln_expr none;
};

void* ln_sql_take(struct lunar_statement* s, size_t bytes) {
  LUNAR_ASSERT(s->memory <= s->end);
  bytes = (bytes + 7) & ~(size_t)7;
  if ((size_t)(s->end - s->memory) < bytes) return NULL;
  void* taken = memset(s->memory, 0, bytes);
  s->memory += bytes;
  return taken;
}

static void next(struct parser* p) {
  if (!p->error) ln_sql_next(&p->token, p->end);
}

/* Goes back to the token that begins at this place. */
static void back(struct parser* p, const char* at) {
  if (p->error) return;
  p->token.text = at;
  p->token.bytes = 0;
  next(p);
}

static void fail(struct parser* p, int error, enum ln_complaint complaint) {
  if (p->error) return;
  p->error = ln_sql_complain(p->s, error, complaint, p->token.text, p->token.bytes);
  p->s->message.position = (uint32_t)(p->token.text - p->sql);
  p->token.kind = LN_T_END;
}

/* Reports an error at the token that begins at this place. */
static LN_APART void wrong(struct parser* p, const char* at, enum ln_complaint complaint) {
  back(p, at);
  fail(p, LUNAR_E_SQL, complaint);
}

static LN_APART void here(struct parser* p, enum ln_complaint complaint) { fail(p, LUNAR_E_SQL, complaint); }

static void* take(struct parser* p, size_t bytes) {
  void* taken = p->error ? NULL : ln_sql_take(p->s, bytes);
  if (!taken) fail(p, LUNAR_E_BUFFER, LN_C_NONE);
  return taken;
}

static int is(const struct parser* p, int kind) { return p->token.kind == kind; }

static int accept(struct parser* p, int kind) {
  if (!is(p, kind)) return 0;
  next(p);
  return 1;
}

static void unexpected(struct parser* p) {
  if (is(p, LN_T_BAD))
    here(p, LN_C_UNREADABLE);
  else
    here(p, LN_C_UNEXPECTED);
}

static void expect(struct parser* p, int kind) {
  if (!accept(p, kind)) unexpected(p);
}

static LN_APART int is_name(const struct parser* p) {
  return is(p, LN_T_NAME) || is(p, LN_T_QUOTED) || (p->token.kind >= LN_K_ROWS && p->token.kind < LN_KEYWORDS_END);
}

/* Copies the text between the quotes, two quotes within it as one, and returns its bytes. If `to` is NULL, only counts
 * them. */
static uint32_t unquote(const struct ln_token* token, char* to) {
  LUNAR_ASSERT(token->bytes >= 2);
  const char quote = token->text[0], *end = token->text + token->bytes - 1;
  uint32_t bytes = 0;
  for (const char* p = token->text + 1; p < end; p++) {
    if (to) to[bytes] = *p;
    bytes++;
    p += *p == quote;
  }
  return bytes;
}

static void name(struct parser* p, char to[LUNAR_NAME_MAX + 1]) {
  if (!is_name(p)) {
    if (is(p, LN_T_END) || is(p, LN_T_BAD))
      unexpected(p);
    else
      here(p, LN_C_NAME);
    return;
  }
  const int quoted = is(p, LN_T_QUOTED);
  const uint32_t bytes = quoted ? unquote(&p->token, NULL) : p->token.bytes;
  memset(to, 0, LUNAR_NAME_MAX + 1);
  if (bytes == 0 || bytes > LUNAR_NAME_MAX || memchr(p->token.text, 0, p->token.bytes)) {
    here(p, LN_C_NAME_BYTES);
    return;
  }
  if (quoted)
    unquote(&p->token, to);
  else
    memcpy(to, p->token.text, bytes);
  next(p);
}

/* Returns the number of the column with this name. If no column has exactly this name, ignores case. */
static uint8_t column(struct parser* p) {
  const struct lunar_statement* s = p->s;
  const char* at = p->token.text;
  char wanted[LUNAR_NAME_MAX + 1];
  name(p, wanted);
  if (p->error) return 0;
  for (int exact = 1; exact >= 0; exact--)
    for (uint8_t i = 0; i < s->table.column_count; i++)
      if (ln_sql_same(wanted, (uint32_t)strlen(wanted), s->columns[i].name, exact)) return i;
  /* A word before a name, a value or a parenthesis is a keyword or function of other SQL, not the name of a column. */
  const uint8_t kind = p->token.kind;
  const int is_other = kind == '(' || kind == LN_T_NAME || kind == LN_T_QUOTED || kind == LN_T_NUMBER ||
                       kind == LN_T_STRING || (kind == LN_T_BAD && *p->token.text == '.');
  wrong(p, at, is_other ? LN_C_UNEXPECTED : LN_C_COLUMN);
  return 0;
}

/* --- expressions --- */

static struct ln_expr* node(struct parser* p, enum ln_op op, struct ln_expr* left, struct ln_expr* right) {
  struct ln_expr* e = take(p, sizeof *e);
  if (!e) e = &p->none;
  memset(e, 0, sizeof *e);
  e->op = (uint8_t)op;
  e->left = left;
  e->right = right;
  if (left) e->height = left->height;
  if (right && right->height > e->height) e->height = right->height;
  if (op != LN_X_LINK && op != LN_X_MINUS && ++e->height > 2 * LN_SQL_NESTING) here(p, LN_C_DEEP);
  return e;
}

static struct ln_expr* expression(struct parser* p, uint8_t level);

/* Appends e to the list that ends at `to`. Returns the new end. */
static struct ln_expr** append(struct parser* p, struct ln_expr** to, struct ln_expr* e) {
  *to = node(p, LN_X_LINK, e, NULL);
  return p->error ? to : &(*to)->right;
}

/* Parses expressions with commas between them. Returns their number. */
static uint32_t list(struct parser* p, struct ln_expr** to) {
  uint32_t count = 0;
  do {
    to = append(p, to, expression(p, 1));
    count++;
  } while (accept(p, ','));
  return count;
}

static int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void blob(struct parser* p, struct lunar_value* value) {
  const uint32_t digits = p->token.bytes - 3;
  uint8_t* data = take(p, digits / 2);
  int bad = digits % 2;
  for (uint32_t i = 0; data && !bad && i < digits; i++) {
    const int digit = hexadecimal(p->token.text[2 + i]);
    bad = digit < 0;
    data[i / 2] = (uint8_t)(data[i / 2] << 4 | digit);
  }
  if (bad) here(p, LN_C_BLOB);
  value->type = LUNAR_BLOB;
  value->bytes = digits / 2;
  value->as.data = data;
}

static struct ln_expr* literal(struct parser* p, int minus) {
  struct ln_expr* e = node(p, LN_X_VALUE, NULL, NULL);
  struct lunar_value* value = &e->value;
  *value = (struct lunar_value){.type = LUNAR_NULL};
  if (is(p, LN_T_NUMBER)) {
    ln_sql_number(p->token.text, p->token.bytes, value);
    if (minus && value->type == LUNAR_INT64)
      value->as.integer = -value->as.integer;
    else if (minus)
      value->as.real = -value->as.real;
    if (minus && p->token.bytes == 19 && memcmp(p->token.text, "9223372036854775808", 19) == 0) {
      value->type = LUNAR_INT64;
      value->as.integer = INT64_MIN;
    }
  } else if (is(p, LN_T_STRING)) {
    value->type = LUNAR_TEXT;
    value->bytes = unquote(&p->token, NULL);
    char* data = take(p, value->bytes);
    if (data) unquote(&p->token, data);
    value->as.data = data;
  } else if (is(p, LN_T_BLOB)) {
    blob(p, value);
  } else if (is(p, LN_K_TRUE) || is(p, LN_K_FALSE)) {
    value->type = LUNAR_BOOLEAN;
    value->as.integer = is(p, LN_K_TRUE);
  }
  next(p);
  return e;
}

static struct ln_expr* parameter(struct parser* p) {
  struct lunar_statement* s = p->s;
  const char* text = p->token.text;
  const uint32_t bytes = p->token.bytes;
  uint32_t number = s->parameter_count + 1u;
  if (text[0] == ':') {
    struct ln_parameter_name* n = s->parameter_names;
    while (n && (n->bytes != bytes || memcmp(n->name, text, bytes) != 0)) n = n->next;
    if (!n && (n = take(p, sizeof *n + bytes + 1)) != NULL) {
      *n = (struct ln_parameter_name){s->parameter_names, (char*)(n + 1), bytes, (uint8_t)number};
      memcpy(n + 1, text, bytes);
      s->parameter_names = n;
    }
    if (n && n->number) number = n->number;
  } else if (bytes > 1) {
    number = 0;
    for (uint32_t i = 1; i < bytes && number <= LN_SQL_PARAMETERS; i++)
      number = 10 * number + (uint32_t)(text[i] - '0');
  }
  if (number == 0 || number > LN_SQL_PARAMETERS) {
    here(p, LN_C_PARAMETER);
    number = 0;
  }
  if (number > s->parameter_count) s->parameter_count = (uint8_t)number;
  struct ln_expr* e = node(p, LN_X_PARAMETER, NULL, NULL);
  e->number = (uint8_t)number;
  next(p);
  return e;
}

static struct ln_expr* column_node(struct parser* p) {
  if (!p->columns) {
    here(p, LN_C_NO_COLUMN);
    return &p->none;
  }
  const char* at = p->token.text;
  struct ln_expr* e = node(p, LN_X_COLUMN, NULL, NULL);
  e->number = column(p);
  if (!p->bare) p->bare_at = at;
  p->bare |= (uint16_t)(1u << e->number);
  return e;
}

static struct ln_expr* aggregate(struct parser* p, uint8_t function) {
  LUNAR_ASSERT(function >= LN_K_COUNT && function <= LN_K_MAX);
  struct lunar_statement* s = p->s;
  const uint16_t bare = p->bare;
  if (!p->aggregates) here(p, LN_C_NO_AGGREGATE);
  p->aggregates = 0;
  struct ln_expr* e = node(p, LN_X_AGGREGATE, NULL, NULL);
  if (function == LN_K_COUNT && accept(p, '*')) {
  } else {
    const char* at = p->token.text;
    e->left = expression(p, 1);
    const uint8_t type = e->left->op == LN_X_COLUMN ? s->table.types[e->left->number] : LUNAR_INT64;
    if ((function == LN_K_SUM || function == LN_K_AVG) && type >= LUNAR_TEXT) wrong(p, at, LN_C_NUMBERS);
  }
  p->aggregates = 1;
  p->bare = bare;
  e->function = function;
  e->number = s->aggregate_count;
  e->height = (uint8_t)(1 + (e->left ? e->left->height : 0));
  if (s->aggregate_count == 64) here(p, LN_C_AGGREGATES);
  s->aggregate_count++;
  p->aggregates_end = append(p, p->aggregates_end, e);
  expect(p, ')');
  return e;
}

static struct ln_expr* primary(struct parser* p) {
  struct ln_expr* e;
  const char* at = p->token.text;
  const uint8_t kind = p->token.kind;
  if (accept(p, '(')) {
    e = expression(p, 1);
    expect(p, ')');
    return e;
  }
  if (accept(p, LN_K_NOT)) return node(p, LN_X_NOT, expression(p, 3), NULL);
  if (kind == '+' || kind == '-') {
    next(p);
    if (is(p, LN_T_NUMBER)) return literal(p, kind == '-');
    return node(p, kind == '-' ? LN_X_NEGATE : LN_X_SUM, expression(p, 7), NULL);
  }
  if (kind == LN_T_NUMBER || kind == LN_T_STRING || kind == LN_T_BLOB || kind == LN_K_NULL || kind == LN_K_TRUE ||
      kind == LN_K_FALSE)
    return literal(p, 0);
  if (kind == LN_T_PARAMETER) return parameter(p);
  if (!is_name(p)) {
    unexpected(p);
    return &p->none;
  }
  _Static_assert(LN_K_SUM == LN_K_COUNT + 1 && LN_K_AVG == LN_K_COUNT + 2 && LN_K_MIN == LN_K_COUNT + 3 &&
                     LN_K_MAX == LN_K_COUNT + 4,
                 "the functions lie side by side");
  if (kind >= LN_K_COUNT && kind <= LN_K_MAX) {
    next(p);
    if (accept(p, '(')) return aggregate(p, kind);
    back(p, at);
  }
  return column_node(p);
}

/* token, precedence level, kind of node */
static const uint8_t binary_operators[][3] = {
    {LN_K_OR, 1, LN_X_OR},   {LN_K_AND, 2, LN_X_AND}, {'=', 4, LN_X_EQ},         {LN_T_NE, 4, LN_X_NE},
    {LN_K_IS, 4, LN_X_IS},   {LN_K_IN, 4, LN_X_IN},   {LN_K_LIKE, 4, LN_X_LIKE}, {LN_K_BETWEEN, 4, LN_X_AND},
    {LN_K_NOT, 4, LN_X_NOT}, {'<', 5, LN_X_LT},       {'>', 5, LN_X_GT},         {LN_T_LE, 5, LN_X_LE},
    {LN_T_GE, 5, LN_X_GE},   {'+', 6, LN_X_SUM},      {'-', 6, LN_X_SUM},        {0, 0, 0}};

static const uint8_t* binary_operator(const struct parser* p) {
  const uint8_t* found = binary_operators[0];
  while (found[0] && !is(p, found[0])) found += sizeof binary_operators[0];
  return found;
}

static struct ln_expr* comparison(struct parser* p, struct ln_expr* left, const uint8_t* op) {
  struct ln_expr* e;
  int not = op[0] == LN_K_NOT;
  if (not ) {
    op = binary_operator(p);
    if (op[2] != LN_X_IN && op[2] != LN_X_LIKE && op[0] != LN_K_BETWEEN) unexpected(p);
    next(p);
  }
  if (op[2] == LN_X_IN) {
    e = node(p, LN_X_IN, left, NULL);
    expect(p, '(');
    if (!is(p, ')')) list(p, &e->right);
    for (const struct ln_expr* l = p->error ? NULL : e->right; l; l = l->right)
      if (l->height >= e->height) e->height = (uint8_t)(l->height + 1);
    expect(p, ')');
  } else {
    if (op[2] == LN_X_IS) not = accept(p, LN_K_NOT);
    const int between = op[0] == LN_K_BETWEEN;
    e = node(p, between ? LN_X_GE : (enum ln_op)op[2], left, expression(p, (uint8_t)(op[1] + 1)));
    if (between) {
      expect(p, LN_K_AND);
      left = node(p, LN_X_LE, left, expression(p, 5));
      e = node(p, LN_X_AND, e, node(p, LN_X_LINK, left, NULL));
    }
  }
  return not ? node(p, LN_X_NOT, e, NULL) : e;
}

/* Parses an expression whose binary operators have at least this level. Terms of the same operator form one list. */
static struct ln_expr* expression(struct parser* p, uint8_t level) {
  if (++p->nesting > 3 * LN_SQL_NESTING) here(p, LN_C_DEEP);
  struct ln_expr *e = primary(p), *last = NULL;
  for (const uint8_t* op; (op = binary_operator(p))[0] && op[1] >= level;) {
    const int minus = is(p, '-');
    next(p);
    if (op[1] == 4 || op[1] == 5) {
      e = comparison(p, e, op);
      last = NULL;
      continue;
    }
    struct ln_expr* term = node(p, minus ? LN_X_MINUS : LN_X_LINK, expression(p, (uint8_t)(op[1] + 1)), NULL);
    if (last && e->op == op[2])
      last->right = term;
    else
      e = node(p, (enum ln_op)op[2], e, term);
    if (term->height >= e->height) e->height = (uint8_t)(term->height + 1);
    if (e->height > 2 * LN_SQL_NESTING) here(p, LN_C_DEEP);
    last = term;
  }
  p->nesting--;
  return e;
}

/* --- clauses --- */

static void table(struct parser* p) {
  struct lunar_statement* s = p->s;
  const char* at = p->token.text;
  name(p, s->name);
  if (p->error) return;
  int error = ln_sql_open(s, &s->table);
  struct lunar_schema* schema = (struct lunar_schema*)s->memory;
  if (!error && (size_t)(s->end - s->memory) < sizeof *schema) error = LUNAR_E_BUFFER;
  if (!error) error = lunar_table_schema(&s->table, schema);
  if (error) {
    back(p, at);
    fail(p, error, LN_C_NONE);
    return;
  }
  s->columns = schema->columns; /* the columns stay; the memory behind them is free again */
  s->memory += (s->table.column_count * sizeof schema->columns[0] + 7) & ~(size_t)7;
}

static void where(struct parser* p) {
  p->columns = 1;
  p->aggregates = 0;
  if (accept(p, LN_K_WHERE)) p->s->where = expression(p, 1);
}

static struct ln_expr* constant(struct parser* p) {
  p->columns = p->aggregates = 0;
  return expression(p, 1);
}

static const char* copied(struct parser* p, const char* text, size_t bytes) {
  char* copy = take(p, bytes + 1);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

static void output(struct parser* p, struct ln_expr*** to, struct ln_expr* e, const char* called) {
  struct ln_expr** link = *to;
  *to = append(p, link, e);
  (*link)->name = called;
  if (++p->s->output_count == 255) here(p, LN_C_RESULTS);
}

static void outputs(struct parser* p) {
  struct lunar_statement* s = p->s;
  struct ln_expr** to = &s->outputs;
  p->columns = p->aggregates = 1;
  do {
    if (is(p, '*')) {
      if (!p->bare) p->bare_at = p->token.text;
      next(p);
      for (uint8_t i = 0; i < s->table.column_count; i++) {
        struct ln_expr* e = node(p, LN_X_COLUMN, NULL, NULL);
        e->number = i;
        p->bare |= (uint16_t)(1u << i);
        output(p, &to, e, s->columns[i].name);
      }
      continue;
    }
    const char* from = p->token.text;
    const char* behind = from;
    char as[LUNAR_NAME_MAX + 1];
    struct ln_expr* e = expression(p, 1);
    if (accept(p, LN_K_AS)) {
      name(p, as);
      output(p, &to, e, p->error ? NULL : copied(p, as, strlen(as)));
    } else if (e->op == LN_X_COLUMN) {
      output(p, &to, e, s->columns[e->number].name);
    } else {
      for (behind = p->token.text; behind > from && (behind[-1] == ' ' || behind[-1] == '\n');) behind--;
      output(p, &to, e, p->error ? NULL : copied(p, from, (size_t)(behind - from)));
    }
  } while (accept(p, ','));
}

static void order_by(struct parser* p) {
  struct lunar_statement* s = p->s;
  struct ln_expr** to = &s->order;
  p->columns = 1;
  p->aggregates = 0;
  do {
    const char* at = p->token.text;
    struct ln_expr* e = expression(p, 1);
    if (ln_sql_is_constant(e) || (s->group && (e->op != LN_X_COLUMN || e->number + 1 != s->group)) ||
        (s->aggregate_count && !s->group) || s->order_count == 16) {
      wrong(p, at, LN_C_ORDER);
    }
    struct ln_expr** link = to;
    to = append(p, to, e);
    if (!accept(p, LN_K_ASC)) (*link)->number = (uint8_t)accept(p, LN_K_DESC);
    s->order_count++;
  } while (accept(p, ','));
}

static void select(struct parser* p) {
  struct lunar_statement* s = p->s;
  const char* from = p->token.text;
  while (!is(p, LN_K_FROM) && !is(p, LN_T_END) && !is(p, ';')) next(p);
  if (!is(p, LN_K_FROM)) wrong(p, from, LN_C_FROM);
  next(p);
  table(p);
  const char* behind = p->token.text;
  back(p, from);
  outputs(p);
  if (!is(p, LN_K_FROM)) unexpected(p);
  back(p, behind);
  const uint16_t bare = s->used = p->bare;
  where(p);
  if (accept(p, LN_K_GROUP)) {
    expect(p, LN_K_BY);
    s->group = (uint8_t)(column(p) + 1);
  }
  if (!p->error && (s->aggregate_count || s->group) && bare & ~(s->group ? 1u << (s->group - 1) : 0)) {
    wrong(p, p->bare_at, LN_C_BARE);
  }
  if (accept(p, LN_K_ORDER)) {
    expect(p, LN_K_BY);
    order_by(p);
  }
  if (accept(p, LN_K_LIMIT)) {
    s->limit = constant(p);
    if (accept(p, LN_K_OFFSET)) s->offset = constant(p);
  }
}

static void insert(struct parser* p) {
  struct lunar_statement* s = p->s;
  uint8_t order[LUNAR_COLUMNS_MAX];
  uint8_t count = 0;
  uint32_t seen = 0;
  expect(p, LN_K_INTO);
  table(p);
  if (accept(p, '(')) {
    do {
      const char* at = p->token.text;
      const uint8_t i = column(p);
      if (seen >> i & 1) wrong(p, at, LN_C_TWICE);
      if (p->error) return;
      seen |= 1u << i;
      order[count++] = i;
    } while (accept(p, ','));
    expect(p, ')');
  } else {
    for (; count < s->table.column_count; count++) order[count] = count;
  }
  expect(p, LN_K_VALUES);
  p->columns = p->aggregates = 0;
  struct ln_expr** to = &s->rows;
  do {
    const char* at = p->token.text;
    struct ln_expr** link = to;
    to = append(p, to, NULL);
    struct ln_expr* row = *link;
    expect(p, '(');
    const uint32_t values = list(p, &row->left);
    if (values != count) wrong(p, at, LN_C_VALUES);
    expect(p, ')');
    uint32_t i = 0;
    for (struct ln_expr* e = p->error ? NULL : row->left; e; e = e->right) e->number = order[i++];
  } while (accept(p, ','));
}

/* For UPDATE and DELETE. */
static void where_and_limit(struct parser* p) {
  where(p);
  if (accept(p, LN_K_LIMIT)) p->s->limit = constant(p);
}

static void update(struct parser* p) {
  struct lunar_statement* s = p->s;
  struct ln_expr** to = &s->rows;
  uint32_t seen = 0;
  table(p);
  expect(p, LN_K_SET);
  p->columns = 1;
  p->aggregates = 0;
  do {
    const char* at = p->token.text;
    const uint8_t i = column(p);
    if (i == s->table.key) wrong(p, at, LN_C_SET_KEY);
    if (seen >> i & 1) wrong(p, at, LN_C_TWICE);
    expect(p, '=');
    seen |= 1u << i;
    struct ln_expr** link = to;
    to = append(p, to, expression(p, 1));
    (*link)->number = i;
    s->output_count++;
  } while (accept(p, ','));
  where_and_limit(p);
}

/* Accepts one of `count` keywords, of which `first` is the first. Returns its number among them, from 0. */
static uint8_t one_of(struct parser* p, int first, int count) {
  const int which = p->token.kind - first;
  if (which >= 0 && which < count)
    next(p);
  else
    unexpected(p);
  return (uint8_t)which;
}

static void index_kind(struct parser* p, uint8_t* index) {
  if (accept(p, LN_K_USING)) *index = one_of(p, LN_K_HASH, 2);
}

static void column_type(struct parser* p, struct lunar_column* column) {
  static const uint8_t types[] = {LUNAR_INT8,    LUNAR_INT8,    LUNAR_INT16, LUNAR_INT16, LUNAR_INT32, LUNAR_INT32,
                                  LUNAR_INT64,   LUNAR_INT64,   LUNAR_INT64, LUNAR_REAL,  LUNAR_REAL,  LUNAR_REAL,
                                  LUNAR_BOOLEAN, LUNAR_BOOLEAN, LUNAR_TEXT,  LUNAR_TEXT,  LUNAR_TEXT,  LUNAR_BLOB};
  _Static_assert(sizeof types == LN_KEYWORDS_END - LN_K_TINYINT, "a type for each word");
  const uint8_t kind = p->token.kind;
  if (kind < LN_K_TINYINT || kind >= LN_KEYWORDS_END) {
    here(p, LN_C_TYPE);
    return;
  }
  column->type = types[kind - LN_K_TINYINT];
  next(p);
  if ((kind == LN_K_VARCHAR || kind == LN_K_CHAR) && accept(p, '(')) {
    expect(p, LN_T_NUMBER);
    expect(p, ')');
  }
}

static void primary_key(struct parser* p, int* keys) {
  if (++*keys > 1) here(p, LN_C_KEYS);
  expect(p, LN_K_KEY);
}

static void ring(struct parser* p, struct lunar_schema* schema) {
  struct lunar_value limit = {.type = LUNAR_NULL};
  schema->ring = (uint8_t)(1 + one_of(p, LN_K_ROWS, 3));
  if (is(p, LN_T_NUMBER)) ln_sql_number(p->token.text, p->token.bytes, &limit);
  if (limit.type != LUNAR_INT64 || limit.as.integer < 1) here(p, LN_C_RING);
  schema->ring_limit = (uint64_t)limit.as.integer;
  next(p);
}

static void columns(struct parser* p, struct lunar_schema* schema) {
  struct lunar_statement* s = p->s;
  int keys = 0;
  s->columns = schema->columns;
  do {
    if (accept(p, LN_K_PRIMARY)) {
      primary_key(p, &keys);
      expect(p, '(');
      s->table.column_count = schema->column_count;
      schema->key = column(p);
      expect(p, ')');
      index_kind(p, &schema->index);
      continue;
    }
    const char* at = p->token.text;
    struct lunar_column* c = &schema->columns[schema->column_count];
    if (keys > 1 || schema->column_count == LUNAR_COLUMNS_MAX) {
      here(p, LN_C_COLUMNS);
      return;
    }
    name(p, c->name);
    for (uint8_t i = 0; i < schema->column_count && !p->error; i++)
      if (ln_sql_same(c->name, (uint32_t)strlen(c->name), schema->columns[i].name, 0)) wrong(p, at, LN_C_TWICE);
    column_type(p, c);
    for (;;) {
      if (accept(p, LN_K_NOT)) {
        expect(p, LN_K_NULL);
        c->flags = LUNAR_NOT_NULL;
      } else if (accept(p, LN_K_PRIMARY)) {
        primary_key(p, &keys);
        schema->key = schema->column_count;
        index_kind(p, &schema->index);
      } else if (!accept(p, LN_K_NULL)) {
        break;
      }
    }
    if (!p->error) schema->column_count++;
  } while (accept(p, ','));
  if (!keys) here(p, LN_C_KEYS);
  const uint8_t key = schema->columns[schema->key].type;
  if (key == LUNAR_REAL || key == LUNAR_BOOLEAN) here(p, LN_C_KEY_TYPE);
}

static void if_exists(struct parser* p, int not ) {
  if (!accept(p, LN_K_IF)) return;
  if (not ) expect(p, LN_K_NOT);
  expect(p, LN_K_EXISTS);
  p->s->tolerant = 1;
}

/* Parses a name and stores its position for the messages of lunar_step. */
static void name_with_position(struct parser* p, char* to) {
  p->s->position = (uint32_t)(p->token.text - p->sql);
  name(p, to);
}

static void create(struct parser* p) {
  struct lunar_statement* s = p->s;
  if (accept(p, LN_K_TABLE)) {
    struct lunar_schema* schema = take(p, sizeof *schema);
    s->schema = schema;
    if (!schema) return;
    schema->index = LUNAR_WITH_TREE ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH;
    if_exists(p, 1);
    name_with_position(p, s->name);
    expect(p, '(');
    columns(p, schema);
    expect(p, ')');
    if (accept(p, LN_K_RING)) ring(p, schema);
    if (accept(p, LN_K_CHECKSUM)) schema->checksum = 1;
    s->columns = NULL;
    s->table.column_count = 0;
    return;
  }
  s->kind = LN_S_CREATE_INDEX;
  expect(p, LN_K_INDEX);
  s->access = LUNAR_WITH_TREE ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH;
  if_exists(p, 1);
  name_with_position(p, s->index);
  expect(p, LN_K_ON);
  table(p);
  expect(p, '(');
  s->index_column = column(p);
  expect(p, ')');
  index_kind(p, &s->access);
}

static void drop(struct parser* p) {
  struct lunar_statement* s = p->s;
  const int table = accept(p, LN_K_TABLE);
  if (!table) {
    expect(p, LN_K_INDEX);
    s->kind = LN_S_DROP_INDEX;
  }
  if_exists(p, 0);
  if (table)
    name(p, s->name);
  else
    name_with_position(p, s->index);
}

static void statement(struct parser* p) {
  static const uint8_t firsts[][2] = {{LN_K_SELECT, LN_S_SELECT},       {LN_K_UPDATE, LN_S_UPDATE},
                                      {LN_K_DELETE, LN_S_DELETE},       {LN_K_INSERT, LN_S_INSERT},
                                      {LN_K_CREATE, LN_S_CREATE_TABLE}, {LN_K_DROP, LN_S_DROP_TABLE},
                                      {LN_K_BEGIN, LN_S_BEGIN},         {LN_K_COMMIT, LN_S_COMMIT},
                                      {LN_K_END, LN_S_COMMIT},          {LN_K_ROLLBACK, LN_S_ROLLBACK}};
  struct lunar_statement* s = p->s;
  uint32_t i = 0;
  s->explain = (uint8_t)accept(p, LN_K_EXPLAIN);
  while (i < sizeof firsts / sizeof firsts[0] && !is(p, firsts[i][0])) i++;
  if (i == sizeof firsts / sizeof firsts[0] || (s->explain && firsts[i][1] > LN_S_DELETE)) {
    here(p, s->explain ? LN_C_EXPLAIN : LN_C_BEGIN);
    return;
  }
  next(p);
  s->kind = firsts[i][1];
  switch ((enum ln_statement)s->kind) {
    case LN_S_SELECT:
      select(p);
      break;
    case LN_S_UPDATE:
      update(p);
      break;
    case LN_S_DELETE:
      expect(p, LN_K_FROM);
      table(p);
      where_and_limit(p);
      break;
    case LN_S_INSERT:
      insert(p);
      break;
    case LN_S_CREATE_TABLE:
      create(p);
      break;
    case LN_S_DROP_TABLE:
      drop(p);
      break;
    case LN_S_CREATE_INDEX: /* set by create() */
    case LN_S_DROP_INDEX:   /* set by drop() */
      break;
    case LN_S_BEGIN:
    case LN_S_COMMIT:
    case LN_S_ROLLBACK:
      accept(p, LN_K_TRANSACTION);
      break;
  }
  if (!is(p, LN_T_END) && !is(p, ';')) unexpected(p);
}

int ln_sql_parse(struct lunar_statement* s, const char* sql, const char* end, const char** tail) {
  LUNAR_ASSERT(sql && end >= sql && tail);
  struct parser p = {.s = s, .sql = sql, .end = end, .aggregates_end = &s->aggregates};
  p.token.text = sql;
  do next(&p);
  while (is(&p, ';'));
  *tail = end;
  if (is(&p, LN_T_END)) return LUNAR_E_NOT_FOUND;
  statement(&p);
  if (!p.error) *tail = is(&p, ';') ? p.token.text + 1 : end;
  if (p.error) *tail = sql + s->message.position;
  return p.error;
}

#endif
