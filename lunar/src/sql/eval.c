/* Evaluates expressions. Comparisons and the logic of three values follow SQLite, on lunar's types. */
#include "sql.h"

#if LUNAR_WITH_SQL

static int is_bytes(const struct lunar_value* v) { return v->type >= LUNAR_TEXT; }
static double real_of(const struct lunar_value* v) {
  return v->type == LUNAR_REAL ? v->as.real : (double)v->as.integer;
}

/* Returns the sign of a NaN (1 or -1), or 0 if r is no NaN. As in an index, a NaN lies beyond the infinity of its
 * sign. No operator results in a NaN, and lunar_bind replaces it by NULL, but lunar_insert can store it. */
static int nan_side(double r) {
  if (r == r) return 0;
  return __builtin_signbit(r) ? -1 : 1;
}

static int is_nan(const struct lunar_value* v) { return v->type == LUNAR_REAL && v->as.real != v->as.real; }

static int compare_reals(double a, double b) {
  const int left = nan_side(a), right = nan_side(b);
  return left || right ? left - right : (a > b) - (a < b);
}

static int compare_with_real(int64_t i, double r) {
  if (nan_side(r)) return -nan_side(r);
  if (r < -9223372036854775808.0) return 1;
  if (r >= 9223372036854775808.0) return -1;
  const int64_t whole = (int64_t)r;
  if (i != whole) return i < whole ? -1 : 1;
  const double fraction = r - (double)whole;
  return fraction > 0 ? -1 : fraction < 0;
}

int ln_sql_compare(const struct lunar_value* a, const struct lunar_value* b) {
  static const uint8_t ranks[] = {0, 1, 1, 1, 1, 1, 1, 2, 3};
  _Static_assert(sizeof ranks == LUNAR_BLOB + 1, "a rank for each type");
  LUNAR_ASSERT(a->type <= LUNAR_BLOB && b->type <= LUNAR_BLOB);
  if (ranks[a->type] != ranks[b->type]) return ranks[a->type] < ranks[b->type] ? -1 : 1;
  if (a->type == LUNAR_NULL) return 0;
  if (is_bytes(a)) {
    const uint32_t least = a->bytes < b->bytes ? a->bytes : b->bytes;
    const int order = least ? memcmp(a->as.data, b->as.data, least) : 0;
    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
  }
  if (a->type == LUNAR_REAL && b->type == LUNAR_REAL) return compare_reals(a->as.real, b->as.real);
  if (b->type == LUNAR_REAL) return compare_with_real(a->as.integer, b->as.real);
  if (a->type == LUNAR_REAL) return -compare_with_real(b->as.integer, a->as.real);
  return (a->as.integer > b->as.integer) - (a->as.integer < b->as.integer);
}

int ln_sql_to_number(struct lunar_value* v) {
  if (v->type != LUNAR_TEXT) return 0;
  const char *p = v->as.data, *end = p + v->bytes;
  struct lunar_value number;
  while (p < end && *p == ' ') p++;
  while (p < end && end[-1] == ' ') end--;
  const int minus = p < end && *p == '-';
  if (minus || (p < end && *p == '+')) p++;
  const uint32_t bytes = ln_sql_number(p, (uint32_t)(end - p), &number);
  if (bytes == 0 || p + bytes != end) return 0;
  if (minus && number.type == LUNAR_REAL) number.as.real = -number.as.real;
  if (minus && number.type == LUNAR_INT64) number.as.integer = -number.as.integer;
  *v = number;
  return 1;
}

void ln_sql_to_text(struct lunar_value* v, char digits[LN_SQL_DECIMAL_BYTES]) {
  if (v->type != LUNAR_INT64 && v->type != LUNAR_BOOLEAN) return;
  uint64_t left = v->as.integer < 0 ? 0 - (uint64_t)v->as.integer : (uint64_t)v->as.integer;
  char* p = digits + LN_SQL_DECIMAL_BYTES;
  do *--p = (char)('0' + left % 10);
  while (left /= 10);
  if (v->as.integer < 0) *--p = '-';
  *v = (struct lunar_value){.type = LUNAR_TEXT, .bytes = (uint32_t)(digits + LN_SQL_DECIMAL_BYTES - p)};
  v->as.data = p;
}

void ln_sql_to_integer(struct lunar_value* v) {
  const double real = v->type == LUNAR_REAL ? v->as.real : 0.5;
  if (v->type == LUNAR_BOOLEAN) v->type = LUNAR_INT64;
  if (real > -9223372036854775808.0 && real < 9223372036854775808.0 && (double)(int64_t)real == real) {
    v->type = LUNAR_INT64;
    v->as.integer = (int64_t)real;
  }
}

int ln_sql_truth(const struct lunar_value* value) {
  struct lunar_value v = *value;
  if (v.type == LUNAR_NULL) return -1;
  ln_sql_to_number(&v);
  if (is_bytes(&v)) return 0;
  return v.type == LUNAR_REAL ? v.as.real != 0 : v.as.integer != 0;
}

/* How an operand converts the other operand of a comparison. */
enum {
  PLAIN,  /* not at all: a BLOB column, or no column */
  NUMBER, /* a column of numbers: TEXT becomes a number */
  WORDS   /* a TEXT column: an integer becomes TEXT */
};
static int affinity(const struct lunar_statement* s, const struct ln_expr* e) {
  LUNAR_ASSERT(!e || e->op != LN_X_COLUMN || e->number < s->table.column_count);
  if (!e || e->op != LN_X_COLUMN) return PLAIN;
  const uint8_t type = s->table.types[e->number];
  if (type < LUNAR_TEXT) return NUMBER;
  return type == LUNAR_TEXT ? WORDS : PLAIN;
}

/* Compares the values of the operands le and re, neither of which is NULL, after the conversions of affinity().
 * re: NULL for an element of IN, which converts nothing. */
static int compare_as(const struct lunar_statement* s, const struct ln_expr* le, const struct ln_expr* re,
                      const struct lunar_value* left, const struct lunar_value* right) {
  LUNAR_ASSERT(left->type != LUNAR_NULL && right->type != LUNAR_NULL);
  const int la = affinity(s, le), ra = affinity(s, re);
  struct lunar_value l = *left, r = *right;
  char digits[LN_SQL_DECIMAL_BYTES];
  if (la == NUMBER || ra == NUMBER) {
    if (la != NUMBER) ln_sql_to_number(&l);
    if (ra != NUMBER) ln_sql_to_number(&r);
  } else if (la == WORDS) {
    ln_sql_to_text(&r, digits);
  } else if (ra == WORDS) {
    ln_sql_to_text(&l, digits);
  }
  return ln_sql_compare(&l, &r);
}

static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c; }

/* Returns 1 if the text matches the pattern of LIKE, 0 if not. % matches any bytes, _ one character of UTF-8. The case
 * of ASCII letters is ignored. */
static int like(const uint8_t* text, const uint8_t* end, const uint8_t* pattern, const uint8_t* pattern_end) {
  const uint8_t *retry = NULL, *retry_text = NULL;
  for (;;) {
    if (pattern < pattern_end && *pattern == '%') {
      retry = ++pattern;
      retry_text = text;
    } else if (text == end && pattern == pattern_end) {
      return 1;
    } else if (text < end && pattern < pattern_end && (*pattern == '_' || lower(*pattern) == lower(*text))) {
      text++;
      if (*pattern++ == '_')
        while (text < end && (*text & 0xc0) == 0x80) text++;
    } else if (retry && retry_text < end) {
      pattern = retry;
      text = ++retry_text;
    } else {
      return 0;
    }
  }
}

static int add(struct lunar_value* sum, const struct lunar_value* term, int minus) {
  struct lunar_value t = *term;
  if (sum->type == LUNAR_NULL) return 0;
  if (t.type == LUNAR_NULL) {
    *sum = t;
    return 0;
  }
  if (is_bytes(&t) && !ln_sql_to_number(&t)) t = (struct lunar_value){.type = LUNAR_INT64};
  int64_t whole;
  if (sum->type != LUNAR_REAL && t.type != LUNAR_REAL &&
      !(minus ? __builtin_sub_overflow(sum->as.integer, t.as.integer, &whole)
              : __builtin_add_overflow(sum->as.integer, t.as.integer, &whole))) {
    sum->type = LUNAR_INT64;
    sum->as.integer = whole;
    return 0;
  }
  const double left = real_of(sum), right = real_of(&t);
  sum->type = LUNAR_REAL;
  sum->as.real = minus ? left - right : left + right;
  if (sum->as.real != sum->as.real) sum->type = LUNAR_NULL;
  return 1;
}

static void number_of(struct lunar_value* v) {
  struct lunar_value sum = {.type = LUNAR_INT64};
  add(&sum, v, 0);
  *v = sum;
}

static void result(struct lunar_value* value, int truth) {
  *value = (struct lunar_value){.type = truth < 0 ? LUNAR_NULL : LUNAR_BOOLEAN};
  value->as.integer = truth > 0;
}

/* Evaluates AND and OR. A false term decides AND and a true term decides OR; the terms behind it are not evaluated. */
static int logic(struct lunar_statement* s, const struct ln_expr* e, struct lunar_value* value) {
  LUNAR_ASSERT(e->left && e->right);
  const int decides = e->op == LN_X_OR;
  int found = !decides;
  for (const struct ln_expr *term = e->left, *rest = e->right;; term = rest->left, rest = rest->right) {
    LN_TRY(ln_sql_eval(s, term, value));
    const int truth = ln_sql_truth(value);
    if (truth == decides || truth < 0) found = truth;
    if (truth == decides || !rest) break;
  }
  result(value, found);
  return 0;
}

static int in(struct lunar_statement* s, const struct ln_expr* e, struct lunar_value* value) {
  const struct lunar_value left = *value;
  struct lunar_value item;
  int found = left.type == LUNAR_NULL && e->right ? -1 : 0;
  for (const struct ln_expr* l = e->right; l && left.type != LUNAR_NULL && found < 1; l = l->right) {
    LN_TRY(ln_sql_eval(s, l->left, &item));
    if (item.type == LUNAR_NULL)
      found = -1;
    else if (compare_as(s, e->left, NULL, &left, &item) == 0)
      found = 1;
  }
  result(value, found);
  return 0;
}

static int compared(struct lunar_statement* s, const struct ln_expr* e, struct lunar_value* left) {
  struct lunar_value right;
  char digits[LN_SQL_DECIMAL_BYTES], more[LN_SQL_DECIMAL_BYTES];
  LN_TRY(ln_sql_eval(s, e->right, &right));
  const int null = left->type == LUNAR_NULL || right.type == LUNAR_NULL;
  int truth = -1;
  if (e->op == LN_X_IS && null) {
    truth = left->type == right.type;
  } else if (!null && e->op == LN_X_LIKE) {
    ln_sql_to_text(left, digits);
    ln_sql_to_text(&right, more);
    const uint8_t *text = left->as.data, *pattern = right.as.data;
    truth = is_bytes(left) && is_bytes(&right) && like(text, text + left->bytes, pattern, pattern + right.bytes);
  } else if (!null) {
    /* the orders for which each comparison is true */
    enum { LESS = 1, EQUAL = 2, GREATER = 4 };
    static const uint8_t orders[] = {[LN_X_EQ - LN_X_EQ] = EQUAL,   [LN_X_NE - LN_X_EQ] = LESS | GREATER,
                                     [LN_X_LT - LN_X_EQ] = LESS,    [LN_X_LE - LN_X_EQ] = LESS | EQUAL,
                                     [LN_X_GT - LN_X_EQ] = GREATER, [LN_X_GE - LN_X_EQ] = GREATER | EQUAL,
                                     [LN_X_IS - LN_X_EQ] = EQUAL};
    LUNAR_ASSERT(e->op >= LN_X_EQ && e->op - LN_X_EQ < (int)sizeof orders && orders[e->op - LN_X_EQ]);
    const int order = compare_as(s, e->left, e->right, left, &right);
    truth = orders[e->op - LN_X_EQ] >> (1 + (order > 0) - (order < 0)) & 1;
  }
  result(left, truth);
  return 0;
}

static void aggregate(const struct lunar_statement* s, const struct ln_expr* e, struct lunar_value* value) {
  LUNAR_ASSERT(e->number < s->aggregate_count);
  *value = s->keys[(s->group != 0) + e->number];
  if (e->function == LN_K_AVG && value->type == LUNAR_REAL) {
    value->as.real /= value->bytes;
    value->bytes = 0;
  }
  if (is_nan(value)) value->type = LUNAR_NULL;
}

int ln_sql_eval(struct lunar_statement* s, const struct ln_expr* e, struct lunar_value* value) {
  struct lunar_value term;
  int truth;
  switch ((enum ln_op)e->op) {
    case LN_X_VALUE:
      *value = e->value;
      return 0;
    case LN_X_PARAMETER:
      LUNAR_ASSERT(e->number >= 1 && e->number <= s->parameter_count);
      *value = s->parameters[e->number - 1];
      return 0;
    case LN_X_COLUMN:
      LUNAR_ASSERT(e->number < s->table.column_count);
      *value = s->row[e->number];
      return 0;
    case LN_X_AGGREGATE:
      aggregate(s, e, value);
      return 0;
    case LN_X_AND:
    case LN_X_OR:
      return logic(s, e, value);
    case LN_X_LINK:
    case LN_X_MINUS: /* the node that has the list evaluates its elements */
      LUNAR_ASSERT(0);
      break;
    case LN_X_SUM:
    case LN_X_NOT:
    case LN_X_NEGATE:
    case LN_X_EQ:
    case LN_X_NE:
    case LN_X_LT:
    case LN_X_LE:
    case LN_X_GT:
    case LN_X_GE:
    case LN_X_IS:
    case LN_X_IN:
    case LN_X_LIKE: /* evaluated below, after left */
      break;
  }
  LN_TRY(ln_sql_eval(s, e->left, value));
  switch ((enum ln_op)e->op) {
    case LN_X_NOT:
      truth = ln_sql_truth(value);
      result(value, truth < 0 ? truth : !truth);
      return 0;
    case LN_X_NEGATE:
      term = *value;
      *value = (struct lunar_value){.type = LUNAR_INT64};
      add(value, &term, 1);
      return 0;
    case LN_X_SUM:
      if (e->right) number_of(value);
      for (const struct ln_expr* l = e->right; l; l = l->right) {
        LN_TRY(ln_sql_eval(s, l->left, &term));
        add(value, &term, l->op == LN_X_MINUS);
      }
      return 0;
    case LN_X_IN:
      return in(s, e, value);
    case LN_X_VALUE:
    case LN_X_PARAMETER:
    case LN_X_COLUMN:
    case LN_X_AGGREGATE:
    case LN_X_LINK:
    case LN_X_MINUS:
    case LN_X_AND:
    case LN_X_OR:
      LUNAR_ASSERT(0);
      break;
    case LN_X_EQ:
    case LN_X_NE:
    case LN_X_LT:
    case LN_X_LE:
    case LN_X_GT:
    case LN_X_GE:
    case LN_X_IS:
    case LN_X_LIKE:
      break;
  }
  return compared(s, e, value);
}

void ln_sql_convert(uint8_t type, struct lunar_value* value) {
  if (type == LUNAR_REAL) {
    if (value->type == LUNAR_INT64 || value->type == LUNAR_BOOLEAN) {
      value->as.real = real_of(value);
      value->type = LUNAR_REAL;
    }
  } else if (type < LUNAR_TEXT) {
    ln_sql_to_integer(value);
    if (type == LUNAR_BOOLEAN && value->type == LUNAR_INT64) value->type = type;
  }
}

static int is_beyond_integers(const struct lunar_value* v) {
  return v->type == LUNAR_REAL && !(v->as.real >= -9223372036854775808.0 && v->as.real < 9223372036854775808.0);
}

int ln_sql_store_as(struct lunar_statement* s, uint8_t column, struct lunar_value* value) {
  LUNAR_ASSERT(column < s->table.column_count);
  const uint8_t type = s->table.types[column];
  const uint8_t flags = column == s->table.key ? LUNAR_NOT_NULL : s->table.flags[column];
  ln_sql_convert(type, value);
  const int error = ln_value_check(type, flags, value);
  if (!error) return 0;
  enum ln_complaint why = LN_C_OTHER_TYPE;
  if (value->type == LUNAR_NULL)
    why = LN_C_NULL;
  else if (value->type == (type < LUNAR_REAL ? LUNAR_INT64 : type) || (type < LUNAR_REAL && is_beyond_integers(value)))
    why = LN_C_RANGE;
  return ln_sql_complain(s, error, why, s->columns[column].name, strlen(s->columns[column].name));
}

void ln_sql_accumulate_begin(const struct lunar_statement* s, struct lunar_value* sums) {
  for (const struct ln_expr* l = s->aggregates; l; l = l->right, sums++)
    *sums = (struct lunar_value){.type = l->left->function == LN_K_COUNT ? LUNAR_INT64 : LUNAR_NULL};
}

int ln_sql_accumulate(struct lunar_statement* s, struct lunar_value* sums) {
  for (const struct ln_expr* l = s->aggregates; l; l = l->right, sums++) {
    struct lunar_value v = {.type = LUNAR_BOOLEAN};
    const uint8_t function = l->left->function;
    if (l->left->left) LN_TRY(ln_sql_eval(s, l->left->left, &v));
    if (v.type == LUNAR_NULL || is_nan(&v)) continue;
    const int order = ln_sql_compare(&v, sums);
    if (function == LN_K_COUNT) {
      sums->as.integer++;
    } else if (function == LN_K_MIN || function == LN_K_MAX) {
      if (sums->type == LUNAR_NULL || (function == LN_K_MIN ? order < 0 : order > 0)) *sums = v;
    } else if (function == LN_K_AVG) {
      number_of(&v);
      const double before = sums->type == LUNAR_NULL ? 0 : sums->as.real;
      sums->type = LUNAR_REAL;
      sums->as.real = before + real_of(&v);
      sums->bytes++; /* the number of values */
    } else {
      LUNAR_ASSERT(function == LN_K_SUM);
      if (sums->type == LUNAR_NULL) *sums = (struct lunar_value){.type = LUNAR_INT64};
      number_of(&v);
      const int whole = sums->type != LUNAR_REAL && v.type != LUNAR_REAL;
      if (add(sums, &v, 0) && whole) return ln_sql_complain(s, LUNAR_E_INVALID, LN_C_SUM, "SUM", 3);
      if (sums->type == LUNAR_NULL) sums->type = LUNAR_REAL; /* the sum of both infinities stays a NaN */
    }
  }
  return 0;
}

#endif
