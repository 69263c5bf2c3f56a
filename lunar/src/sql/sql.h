/* What the files of the SQL module share: tokens, expressions, the statement.
 *
 * A text is compiled in one pass into a tree of expressions and a few lists, all in the caller's memory behind struct
 * lunar_statement; the rest of the memory holds rows and keys while the statement runs (sort.c). Lists, also
 * the terms of AND, OR and a sum, are chains of LINK nodes: a long condition is not a deep one.
 */
#ifndef LUNAR_SQL_H
#define LUNAR_SQL_H

#include "../api/api.h"

#if LUNAR_WITH_SQL

/* Parentheses, NOT, signs and functions within each other: with an operator in each, so many. On RV64 the parser takes
 * up to 3 times 112 bytes of stack for one, the evaluation 2 times 112. */
#define LN_SQL_NESTING 8
#define LN_SQL_PARAMETERS 255

#if LUNAR_WITH_TEXTS
#define LN_WORDS(text) (text)
#else
#define LN_WORDS(text) ""
#endif

/* Keywords that are never names; then those that may be. ROWS to AGE are in the order of enum lunar_ring, HASH and TREE
 * in that of enum lunar_index, and COUNT to MAX are the functions: append after MAX. Types: in the order of
 * column_type's list. */
/* clang-format off */
#define LN_RESERVED(X) \
  X(AND) X(AS) X(BETWEEN) X(CREATE) X(DELETE) X(DROP) X(FALSE) X(FROM) X(GROUP) X(IN) X(INDEX) X(INSERT) X(INTO) \
  X(IS) X(LIKE) X(LIMIT) X(NOT) X(NULL) X(ON) X(OR) X(ORDER) X(PRIMARY) X(SELECT) X(SET) X(TABLE) X(TRUE) \
  X(UNIQUE) X(UPDATE) X(VALUES) X(WHERE)
#define LN_UNRESERVED(X) \
  X(ROWS) X(BYTES) X(AGE) X(HASH) X(TREE) X(COUNT) X(SUM) X(AVG) X(MIN) X(MAX) \
  X(ASC) X(BEGIN) X(BY) X(CHECKSUM) X(COMMIT) X(DESC) X(END) X(EXISTS) X(EXPLAIN) X(IF) X(KEY) X(OFFSET) X(RING) X(ROLLBACK) \
  X(TRANSACTION) X(USING)
#define LN_TYPES(X) \
  X(TINYINT) X(INT8) X(SMALLINT) X(INT16) X(INT) X(INT32) X(INTEGER) X(BIGINT) X(INT64) X(REAL) X(DOUBLE) \
  X(FLOAT) X(BOOLEAN) X(BOOL) X(TEXT) X(VARCHAR) X(CHAR) X(BLOB)
/* clang-format on */
#define LN_KEYWORD_NAME(word) LN_K_##word,
/* A token is its own character, one of these, or a keyword. */
enum ln_token_kind {
  LN_T_END = 0,
  LN_T_BAD = 1,
  LN_T_NAME = 'a',
  LN_T_QUOTED = 'q',
  LN_T_NUMBER = '0',
  LN_T_STRING = 's',
  LN_T_BLOB = 'x',
  LN_T_PARAMETER = '?',
  LN_T_LE = 'l',
  LN_T_GE = 'g',
  LN_T_NE = 'n',
  LN_KEYWORDS_BEFORE = 127,
  LN_RESERVED(LN_KEYWORD_NAME) LN_UNRESERVED(LN_KEYWORD_NAME) LN_TYPES(LN_KEYWORD_NAME) LN_KEYWORDS_END
};
_Static_assert(LN_KEYWORDS_END <= 255, "a token's kind is a byte");
/* Ranges of keywords that the parser compares with. */
#define LN_ONE(word) +1
_Static_assert(LN_K_ROWS == LN_KEYWORDS_BEFORE + 1 + (LN_RESERVED(LN_ONE)), "names may be words from ROWS on");
_Static_assert(LN_K_TINYINT == LN_K_ROWS + (LN_UNRESERVED(LN_ONE)), "types are the words from TINYINT on");
_Static_assert(LN_K_BYTES == LN_K_ROWS + 1 && LN_K_AGE == LN_K_ROWS + 2 && LUNAR_RING_ROWS == 1 &&
                   LUNAR_RING_BYTES == 2 && LUNAR_RING_AGE == 3,
               "in the order of enum lunar_ring");
_Static_assert(LN_K_TREE == LN_K_HASH + 1 && LUNAR_INDEX_HASH == 0 && LUNAR_INDEX_TREE == 1,
               "in the order of enum lunar_index");

/* What a statement may complain about beside the errors of lunar.h. */
/* clang-format off */
#define LN_COMPLAINTS(X) \
  X(NONE, "") \
  X(UNREADABLE, "no character of SQL, or a quote without its end") \
  X(UNEXPECTED, "not expected here, or not in lunar's SQL") \
  X(NAME, "a name is expected; a word of SQL needs double quotes") \
  X(NAME_BYTES, "a name has 1 to 23 bytes") \
  X(COLUMN, "the table has no column of this name") \
  X(DEEP, "nested too deeply") \
  X(BLOB, "X'...' has pairs of hexadecimal digits") \
  X(PARAMETER, "parameters have numbers from 1 to 255") \
  X(NO_COLUMN, "a column is not allowed here; text has single quotes") \
  X(NO_AGGREGATE, "an aggregate is not allowed here") \
  X(NUMBERS, "SUM and AVG take numbers") \
  X(AGGREGATES, "SELECT has at most 64 aggregates") \
  X(RESULTS, "SELECT has at most 254 results") \
  X(COLUMNS, "a table has at most 16 columns") \
  X(ORDER, "ORDER BY takes 1 to 16 columns; with GROUP BY its column only") \
  X(FROM, "SELECT needs FROM and a table") \
  X(BARE, "a column outside an aggregate must be the GROUP BY column") \
  X(TWICE, "this column is named twice") \
  X(VALUES, "INSERT needs one value for each column") \
  X(SET_KEY, "the primary key cannot be set: delete the row, insert another") \
  X(TYPE, "a type is expected: INTEGER, INT8 to INT64, REAL, TEXT, BLOB, BOOLEAN") \
  X(KEYS, "a table has one PRIMARY KEY, of one column") \
  X(RING, "a RING's limit is a whole number of at least 1") \
  X(KEY_TYPE, "a PRIMARY KEY is an integer, TEXT or BLOB") \
  X(EXPLAIN, "EXPLAIN takes SELECT, UPDATE and DELETE") \
  X(BEGIN, "expected SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, BEGIN, COMMIT, ROLLBACK, EXPLAIN") \
  X(NULL, "may not be NULL") \
  X(RANGE, "the value is out of range") \
  X(OTHER_TYPE, "the value has the wrong type for the column") \
  X(SUM, "the sum is larger than a 64-bit integer") \
  X(WHOLE, "LIMIT and OFFSET take a whole number") \
  X(INDEX, "no index has this name") \
  X(KEY_EXISTS, "a row with this key exists already") \
  X(NAME_EXISTS, "a table or index of this name exists already")
/* clang-format on */
#define LN_COMPLAINT_NAME(name, text) LN_C_##name,
enum ln_complaint { LN_COMPLAINTS(LN_COMPLAINT_NAME) };

struct ln_token {
  const char* text;
  uint32_t bytes;
  uint8_t kind; /* enum ln_token_kind */
};

enum ln_op {
  LN_X_VALUE,     /* value */
  LN_X_PARAMETER, /* number */
  LN_X_COLUMN,    /* number */
  LN_X_AGGREGATE, /* number: its place among the aggregates; function; left: the argument, NULL for COUNT(*) */
  LN_X_LINK,      /* of a list: left, then the rest of the list at right; name: of a result's column */
  LN_X_MINUS,     /* a LINK whose term is subtracted */
  LN_X_AND,       /* left, then the list at right */
  LN_X_OR,
  LN_X_SUM,
  LN_X_NOT,
  LN_X_NEGATE,
  LN_X_EQ,
  LN_X_NE,
  LN_X_LT,
  LN_X_LE,
  LN_X_GT,
  LN_X_GE,
  LN_X_IS,
  LN_X_IN,  /* left, the list at right */
  LN_X_LIKE /* a new one does not compile before eval.c and plan.c have it */
};

struct ln_expr {
  uint8_t op;     /* enum ln_op */
  uint8_t number; /* of a LINK: the column that is set, or whether the order descends */
  uint8_t function;
  uint8_t height; /* the depth of the recursion that evaluates it */
  union {
    struct {
      struct ln_expr *left, *right;
      const char* name;
    };
    struct lunar_value value;
  };
};

static inline int ln_sql_is_constant(const struct ln_expr* e) { return e->op == LN_X_VALUE || e->op == LN_X_PARAMETER; }

struct ln_parameter_name {
  struct ln_parameter_name* next;
  const char* name;
  uint32_t bytes;
  uint8_t number;
};

enum ln_statement {
  LN_S_SELECT,
  LN_S_UPDATE,
  LN_S_DELETE,
  LN_S_INSERT,
  LN_S_CREATE_INDEX,
  LN_S_CREATE_TABLE,
  LN_S_DROP_TABLE,
  LN_S_DROP_INDEX,
  LN_S_BEGIN,
  LN_S_COMMIT,
  LN_S_ROLLBACK
};
_Static_assert(LN_S_SELECT == 0 && LN_S_UPDATE == 1 && LN_S_DELETE == 2,
               "up to DELETE: those that find rows, which have a plan and EXPLAIN");
_Static_assert(LN_S_INSERT == 3 && LN_S_CREATE_INDEX == 4, "up to CREATE INDEX: those that need the table as it was");

/* Access paths: docs/SQL.md, "Access paths". GET: one row by its key. VALUES: the rows of each value of = or IN, one
 * value after the other. */
enum ln_access { LN_A_SCAN, LN_A_RANGE, LN_A_GET, LN_A_VALUES, LN_A_COUNT };

/* The constants with which WHERE compares a column. */
struct ln_path {
  const struct ln_expr *values /* of = or IN: one value or a list */, *from, *to;
  uint8_t column;
  uint8_t is;   /* of values: NULL too */
  uint8_t like; /* from is LIKE's pattern, in so many ranges */
};

/* The text of a constant in an index search; the beginning of LIKE's pattern. */
enum { LN_SQL_DECIMAL_BYTES = 20, LN_SQL_PREFIX_BYTES = LN_SQL_DECIMAL_BYTES };

/* sort.c: records, each some values, in ascending order, in the rest of the memory. */
struct ln_batch {
  uint8_t* used;       /* records lie from lunar_statement.memory to here */
  uint32_t count;      /* of records; their addresses end where the memory ends, the first one's last */
  uint32_t at;         /* the next one to give out */
  uint8_t width;       /* values of a record */
  uint8_t keys;        /* of them: the compared ones */
  uint8_t bounded;     /* record 0 was returned before: only later ones are taken */
  uint8_t full;        /* records behind the last one were left out */
  uint8_t filling;     /* records and rows share the room */
  uint32_t most;       /* so many are enough */
  uint32_t descending; /* a bit per key */
};

struct lunar_statement {
  struct lunar* db;
  struct lunar_sql_message message;
  uint8_t *memory, *end; /* not taken yet */
  struct lunar_table table;
  const struct lunar_column* columns;
  struct lunar_schema* schema; /* of CREATE TABLE */
  struct ln_expr *outputs, *where, *order, *limit, *offset, *aggregates;
  struct ln_expr* rows; /* of INSERT: a list of lists; of UPDATE: the assignments */
  struct ln_parameter_name* parameter_names;
  struct lunar_value *parameters, *row, *results, *keys;
  struct ln_path path;
  const struct ln_expr* at; /* the rest of path.values */
  struct ln_batch batch;
  struct lunar_cursor cursor;
  uint64_t left, skip, changes;
  uint32_t position; /* of the name that CREATE or DROP INDEX has, or CREATE TABLE */
  char bound_bytes[2][LN_SQL_DECIMAL_BYTES];
  char name[LUNAR_NAME_MAX + 1];
  char index[LUNAR_NAME_MAX + 1]; /* the index of the access path; empty: by the key, or in the order of the blocks */
  uint8_t kind;                   /* enum ln_statement */
  uint8_t access;                 /* enum ln_access */
  uint8_t parameter_count, output_count, aggregate_count, order_count, row_width;
  uint16_t used;     /* columns of the result, a bit each */
  uint16_t carried;  /* those of them that a record has beside its keys */
  uint8_t looked_up; /* a record has not all that the result needs: the row is read again */
  uint8_t group;     /* GROUP BY's column + 1 */
  uint8_t batched;   /* rows or groups go through the batch */
  uint8_t ordered;   /* ORDER BY's order is that of the path */
  uint8_t cases;     /* of LIKE's pattern: ranges left */
  uint8_t explain, tolerant /* IF (NOT) EXISTS */, descending, index_column;
  uint8_t running, ended;
  uint8_t own, decided, dirty; /* transaction */
};

/* statement.c */
/* Sets the statement's message, and returns the error. */
int ln_sql_complain(struct lunar_statement* s, int error, enum ln_complaint complaint, const char* token, size_t bytes);
/* Gives an error that has no message yet the text of its number, and returns it. */
int ln_sql_failed(struct lunar_statement* s, int error);
/* The table of s->name, exactly or but for case. */
int ln_sql_open(struct lunar_statement* s, struct lunar_table* table);
/* 1: it was prepared without an error. */
static inline int ln_sql_is_prepared(const struct lunar_statement* s) { return s && s->parameters; }

/* lex.c */
void ln_sql_next(struct ln_token* token, const char* end);                           /* the token behind this one */
int ln_sql_same(const char* a, uint32_t a_bytes, const char* b, int exact);          /* b: with a final zero */
uint32_t ln_sql_number(const char* text, uint32_t bytes, struct lunar_value* value); /* bytes that are the number */

/* parse.c: fills the statement. tail: behind it. */
int ln_sql_parse(struct lunar_statement* s, const char* sql, const char* end, const char** tail);
/* Memory that stays; NULL: there is not so much. */
void* ln_sql_take(struct lunar_statement* s, size_t bytes);

/* eval.c */
int ln_sql_eval(struct lunar_statement* s, const struct ln_expr* e, struct lunar_value* value);
int ln_sql_to_number(struct lunar_value* value); /* TEXT that is a number as a whole; 0: not a number */
void ln_sql_to_text(struct lunar_value* value, char digits[LN_SQL_DECIMAL_BYTES]); /* an integer */
void ln_sql_to_integer(struct lunar_value* value); /* a BOOLEAN, and a REAL without a fraction */
int ln_sql_truth(const struct lunar_value* value); /* 1, 0; -1: NULL */
int ln_sql_compare(const struct lunar_value* a, const struct lunar_value* b); /* NULL first, numbers, TEXT, BLOB */
void ln_sql_convert(uint8_t type, struct lunar_value* value); /* a number, as a column of this type has it */
/* Makes of the value what the column stores. E_INVALID: it cannot, and s complains. */
int ln_sql_store_as(struct lunar_statement* s, uint8_t column, struct lunar_value* value);
void ln_sql_accumulate_begin(const struct lunar_statement* s, struct lunar_value* sums);
int ln_sql_accumulate(struct lunar_statement* s, struct lunar_value* sums);

/* plan.c: chooses the access path. */
void ln_sql_plan_records(struct lunar_statement* s); /* how wide they are */
int ln_sql_plan(struct lunar_statement* s);          /* before each run: indexes come and go */
int ln_sql_rows_open(struct lunar_statement* s);
int ln_sql_row_next(struct lunar_statement* s);            /* the next row that WHERE wants, in s->row; E_NOT_FOUND */
int ln_sql_row_read(struct lunar_statement* s, int again); /* the next on the path, or that of the record given out */
void ln_sql_explain(struct lunar_statement* s);            /* as text, in results[0] */

/* sort.c */
void ln_batch_begin(struct lunar_statement* s);
void ln_batch_restart(struct lunar_statement* s); /* the last record given out is the bound */
int ln_batch_put(struct lunar_statement* s, const struct lunar_value* values);
int ln_batch_accumulate(struct lunar_statement* s); /* the row, to its group */
int ln_batch_give_way(struct lunar_statement* s);   /* 0: there is no room for a larger row */
int ln_batch_take(struct lunar_statement* s);       /* returns the next record; 0: none */
const struct lunar_value* ln_batch_given(const struct lunar_statement* s);
uint8_t* ln_batch_room(const struct lunar_statement* s, size_t* bytes); /* for a row */

#endif
#endif
