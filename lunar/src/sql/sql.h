/* Declarations shared by the files of the SQL module: tokens, expressions, the statement.
 *
 * The text is compiled in one pass into a tree of expressions and a few lists. They lie in the caller's memory, behind
 * struct lunar_statement. While the statement runs, the rest of the memory holds rows and sort records (sort.c). Lists,
 * including the terms of AND, OR and a sum, are chains of LINK nodes, so a long condition does not make a deep tree.
 */
#ifndef LUNAR_SQL_H
#define LUNAR_SQL_H

#include "../api/api.h"

#if LUNAR_WITH_SQL

/* How deep parentheses, NOT, signs and functions may be nested if each level also has an operator. On RV64 the parser
 * takes up to 3 times 112 bytes of stack for a level, the evaluation 2 times 112. */
#define LN_SQL_NESTING 8
#define LN_SQL_PARAMETERS 255

#if LUNAR_WITH_TEXTS
#define LN_WORDS(text) (text)
#else
#define LN_WORDS(text) ""
#endif

/* LN_RESERVED: keywords that cannot be names. LN_UNRESERVED and LN_TYPES: keywords that can. The order matters: ROWS to
 * AGE follow enum lunar_ring, HASH and TREE follow enum lunar_index, and COUNT to MAX are the functions. Add a new
 * keyword after MAX. LN_TYPES follows the list in column_type. */
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
/* Kinds of tokens: one of these, a keyword, or the character of a token such as '('. */
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
/* The parser compares tokens with ranges of keywords. */
#define LN_ONE(word) +1
_Static_assert(LN_K_ROWS == LN_KEYWORDS_BEFORE + 1 + (LN_RESERVED(LN_ONE)), "names may be words from ROWS on");
_Static_assert(LN_K_TINYINT == LN_K_ROWS + (LN_UNRESERVED(LN_ONE)), "types are the words from TINYINT on");
_Static_assert(LN_K_BYTES == LN_K_ROWS + 1 && LN_K_AGE == LN_K_ROWS + 2 && LUNAR_RING_ROWS == 1 &&
                   LUNAR_RING_BYTES == 2 && LUNAR_RING_AGE == 3,
               "in the order of enum lunar_ring");
_Static_assert(LN_K_TREE == LN_K_HASH + 1 && LUNAR_INDEX_HASH == 0 && LUNAR_INDEX_TREE == 1,
               "in the order of enum lunar_index");

/* Messages of statements. An error without one of them gets the text of its number. */
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

/* Kinds of expression nodes, with the fields of struct ln_expr that they use. Kinds without a comment use left and
 * right. A new kind does not compile before eval.c and plan.c handle it. */
enum ln_op {
  LN_X_VALUE,     /* value */
  LN_X_PARAMETER, /* number: of the parameter, from 1 */
  LN_X_COLUMN,    /* number: of the column, from 0 */
  LN_X_AGGREGATE, /* number: position among the aggregates; function; left: the argument, NULL for COUNT(*) */
  LN_X_LINK,      /* left: an element of a list; right: the next LINK; name: of a result column; number */
  LN_X_MINUS,     /* a LINK whose term is subtracted */
  LN_X_AND,       /* left: the first term; right: the list of the other terms */
  LN_X_OR,        /* as AND */
  LN_X_SUM,       /* as AND; right: NULL for a sign + */
  LN_X_NOT,       /* left */
  LN_X_NEGATE,    /* left */
  LN_X_EQ,
  LN_X_NE,
  LN_X_LT,
  LN_X_LE,
  LN_X_GT,
  LN_X_GE,
  LN_X_IS,
  LN_X_IN, /* left; right: the list, NULL if it is empty */
  LN_X_LIKE
};

struct ln_expr {
  uint8_t op;       /* enum ln_op */
  uint8_t number;   /* of a LINK: the column that gets the value, or 1 for DESC in ORDER BY */
  uint8_t function; /* keyword of an aggregate, such as LN_K_SUM */
  uint8_t height;   /* depth of the recursion that evaluates the node */
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

/* Access paths: docs/SQL.md, "Access paths". */
enum ln_access {
  LN_A_SCAN,   /* every row */
  LN_A_RANGE,  /* the rows in a range of the key or of an indexed column */
  LN_A_GET,    /* one row by its key */
  LN_A_VALUES, /* the rows of each value of =, IS or IN, one value after the other */
  LN_A_COUNT   /* the number of rows, without reading any */
};

/* The constants with which WHERE compares one column. */
struct ln_path {
  const struct ln_expr *values /* of =, IS or IN: a constant or a list of constants */, *from, *to;
  uint8_t column;
  uint8_t is;   /* 1: values is the constant of IS, so NULL matches NULL */
  uint8_t like; /* number of ranges if from is the pattern of LIKE; 0: from is a bound */
};

/* Bytes of an integer's decimal text; bytes at the beginning of LIKE's pattern that an index search can use. */
enum { LN_SQL_DECIMAL_BYTES = 20, LN_SQL_PREFIX_BYTES = LN_SQL_DECIMAL_BYTES };

/* sort.c: the batch, sorted records in the rest of the statement's memory. A record is an array of values. */
struct ln_batch {
  uint8_t* used;       /* end of the records, which begin at lunar_statement.memory */
  uint32_t count;      /* records; their addresses lie before lunar_statement.end, that of record 0 last */
  uint32_t at;         /* the next record that ln_batch_take returns */
  uint8_t width;       /* values in a record */
  uint8_t keys;        /* the first values of a record, which are compared */
  uint8_t bounded;     /* 1: record 0 was returned in an earlier pass; only records behind it are accepted */
  uint8_t full;        /* 1: records behind the last one are missing; another pass reads them */
  uint8_t filling;     /* 1: a pass is running; records and the row that is read share the free memory */
  uint32_t most;       /* LIMIT plus OFFSET: no pass needs more records; UINT32_MAX: no limit */
  uint32_t descending; /* bit i: key i is in descending order */
};

struct lunar_statement {
  struct lunar* db;
  struct lunar_sql_message message;
  uint8_t *memory, *end; /* the memory that ln_sql_take has not taken */
  struct lunar_table table;
  const struct lunar_column* columns;
  struct lunar_schema* schema; /* of CREATE TABLE */
  struct ln_expr *outputs, *where, *order, *limit, *offset, *aggregates;
  struct ln_expr* rows; /* INSERT: a list of lists of values; UPDATE: the list of assignments */
  struct ln_parameter_name* parameter_names;
  struct lunar_value *parameters, *row, *results, *keys;
  struct ln_path path;
  const struct ln_expr* at; /* the part of path.values that is still to be searched for */
  struct ln_batch batch;
  struct lunar_cursor cursor;
  uint64_t left, skip, changes;
  uint32_t position; /* in the text: the name in CREATE TABLE, CREATE INDEX or DROP INDEX */
  char bound_bytes[2][LN_SQL_DECIMAL_BYTES];
  char name[LUNAR_NAME_MAX + 1];
  char index[LUNAR_NAME_MAX + 1]; /* secondary index of the access path, or empty; the name in CREATE or DROP INDEX */
  uint8_t kind;                   /* enum ln_statement */
  uint8_t access;                 /* enum ln_access; CREATE INDEX: enum lunar_index */
  uint8_t parameter_count, output_count, aggregate_count, order_count, row_width;
  uint16_t used;     /* columns that the result uses outside aggregates, a bit each */
  uint16_t carried;  /* columns of the result that a record has in addition to its keys, a bit each */
  uint8_t looked_up; /* 1: a record lacks a column that is needed, so the row is read again by its key */
  uint8_t group;     /* column of GROUP BY + 1; 0: no GROUP BY */
  uint8_t batched;   /* 1: the batch collects rows or groups */
  uint8_t ordered;   /* 1: the access path has the order of ORDER BY */
  uint8_t cases;     /* ranges of LIKE's pattern that are still to be read */
  uint8_t explain, tolerant /* IF (NOT) EXISTS */, descending, index_column;
  uint8_t running, /* 1: the last step returned LUNAR_ROW */
      ended;       /* 1: the access path has no more rows */
  uint8_t own,     /* 1: the statement has begun its own transaction */
      decided,     /* 1: the statement has tried to begin one */
      dirty;       /* 1: the statement has changed something */
};

/* statement.c */
/* Sets the statement's message, and returns the error. */
int ln_sql_complain(struct lunar_statement* s, int error, enum ln_complaint complaint, const char* token, size_t bytes);
/* Sets the message to the text of the error's number if there is no message yet, and returns the error. */
int ln_sql_failed(struct lunar_statement* s, int error);
/* Opens the table s->name. If no table has exactly this name, ignores case and sets s->name to the name found.
 * E_NO_TABLE: not found. */
int ln_sql_open(struct lunar_statement* s, struct lunar_table* table);
/* Returns 1 if s was prepared without an error, 0 if not. */
static inline int ln_sql_is_prepared(const struct lunar_statement* s) { return s && s->parameters; }

/* lex.c */
/* Moves on to the next token. */
void ln_sql_next(struct ln_token* token, const char* end);
/* Returns 1 if both texts are equal (exact: 0 ignores case), 0 if not. b ends with a zero byte. */
int ln_sql_same(const char* a, uint32_t a_bytes, const char* b, int exact);
/* Reads the number at the beginning of the text. Returns its length in bytes, 0 if there is no number. */
uint32_t ln_sql_number(const char* text, uint32_t bytes, struct lunar_value* value);

/* parse.c: compiles the first statement of the text. Sets *tail to the text behind it, or to the place of the error.
 * E_NOT_FOUND: the text has no statement. */
int ln_sql_parse(struct lunar_statement* s, const char* sql, const char* end, const char** tail);
/* Takes memory that belongs to the statement to its end, filled with zeros. Returns NULL if too little is left. */
void* ln_sql_take(struct lunar_statement* s, size_t bytes);

/* eval.c */
int ln_sql_eval(struct lunar_statement* s, const struct ln_expr* e, struct lunar_value* value);
/* Converts TEXT that is a number and spaces to this number and returns 1. Returns 0 for any other value. */
int ln_sql_to_number(struct lunar_value* value);
/* Converts an integer or BOOLEAN to TEXT, which lies in digits. */
void ln_sql_to_text(struct lunar_value* value, char digits[LN_SQL_DECIMAL_BYTES]);
void ln_sql_to_integer(struct lunar_value* value); /* converts a BOOLEAN, or a REAL without a fraction */
int ln_sql_truth(const struct lunar_value* value); /* 1: true, 0: false, -1: NULL */
int ln_sql_compare(const struct lunar_value* a, const struct lunar_value* b); /* order: NULL, numbers, TEXT, BLOB */
void ln_sql_convert(uint8_t type, struct lunar_value* value); /* converts a number for a column of this type */
/* Converts the value for the column. If the column cannot store it, sets the message and returns E_INVALID or
 * E_TOO_LARGE. */
int ln_sql_store_as(struct lunar_statement* s, uint8_t column, struct lunar_value* value);
void ln_sql_accumulate_begin(const struct lunar_statement* s, struct lunar_value* sums);
int ln_sql_accumulate(struct lunar_statement* s, struct lunar_value* sums);

/* plan.c: chooses the access path. */
void ln_sql_plan_records(struct lunar_statement* s); /* sets the layout of the sort records */
/* Called before each run, because indexes may have been created or dropped. */
int ln_sql_plan(struct lunar_statement* s);
int ln_sql_rows_open(struct lunar_statement* s);
/* Reads the next row for which WHERE is true into s->row. E_NOT_FOUND: no more rows. */
int ln_sql_row_next(struct lunar_statement* s);
/* Reads the next row of the path or, if again, the row of the record that ln_batch_given returns. */
int ln_sql_row_read(struct lunar_statement* s, int again);
void ln_sql_explain(struct lunar_statement* s); /* writes the access path as text to results[0] */

/* sort.c */
void ln_batch_begin(struct lunar_statement* s);
void ln_batch_restart(struct lunar_statement* s); /* keeps only the record taken last, as the bound of the next pass */
int ln_batch_put(struct lunar_statement* s, const struct lunar_value* values);
int ln_batch_accumulate(struct lunar_statement* s); /* adds the row to its group */
int ln_batch_give_way(struct lunar_statement* s);   /* makes room for a larger row; 0: impossible */
int ln_batch_take(struct lunar_statement* s);       /* 1: moves on to the next record; 0: no more records */
const struct lunar_value* ln_batch_given(const struct lunar_statement* s); /* returns the record taken last */
uint8_t* ln_batch_room(const struct lunar_statement* s, size_t* bytes);    /* returns free memory for a row */

#endif
#endif
