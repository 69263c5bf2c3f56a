// Random statements have the same result in lunar and in SQLite. LUNAR_SEED=N replays a run, LUNAR_STATEMENTS=N sets
// the number.
//
// Every production of the grammar is counted; an unused one fails the test. Values of another type than their column's
// are not generated where the two differ on purpose (docs/SQL.md).
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "sql_database.h"
#include "sql_peek.h"

namespace lunar_test {
namespace {

const char* const productions[] = {"create table",
                                   "create if not exists",
                                   "key as constraint",
                                   "using hash",
                                   "using tree",
                                   "ring rows",
                                   "not null",
                                   "type tinyint",
                                   "type int8",
                                   "type smallint",
                                   "type int16",
                                   "type int",
                                   "type int32",
                                   "type integer",
                                   "type bigint",
                                   "type int64",
                                   "type real",
                                   "type double",
                                   "type float",
                                   "type boolean",
                                   "type bool",
                                   "type text",
                                   "type varchar(n)",
                                   "type char(n)",
                                   "type blob",
                                   "create index",
                                   "create index if not exists",
                                   "create index using hash",
                                   "create index using tree",
                                   "create index refused",
                                   "drop index",
                                   "drop index if exists",
                                   "drop index in a transaction",
                                   "drop table",
                                   "drop if exists",
                                   "insert",
                                   "insert with columns",
                                   "insert several rows",
                                   "insert refused",
                                   "update",
                                   "update several columns",
                                   "update literal",
                                   "update column + literal",
                                   "update column - literal",
                                   "update of another column",
                                   "update refused",
                                   "delete",
                                   "delete all",
                                   "begin",
                                   "commit",
                                   "rollback",
                                   "end",
                                   "transaction lost",
                                   "select",
                                   "select *",
                                   "select columns",
                                   "select expression",
                                   "select as",
                                   "count(*)",
                                   "count",
                                   "min",
                                   "max",
                                   "sum",
                                   "avg",
                                   "sum overflow",
                                   "aggregate in expression",
                                   "group by",
                                   "where",
                                   "and",
                                   "or",
                                   "not",
                                   "parentheses",
                                   "=",
                                   "==",
                                   "<>",
                                   "!=",
                                   "<",
                                   "<=",
                                   ">",
                                   ">=",
                                   "is null",
                                   "is not null",
                                   "is",
                                   "is not",
                                   "in",
                                   "not in",
                                   "in with null",
                                   "like",
                                   "not like",
                                   "between",
                                   "not between",
                                   "+",
                                   "-",
                                   "unary -",
                                   "unary +",
                                   "order by",
                                   "order by several",
                                   "asc",
                                   "desc",
                                   "order by key",
                                   "order by group",
                                   "limit",
                                   "offset",
                                   "?",
                                   "?NNN",
                                   ":name",
                                   "integer",
                                   "real number",
                                   "exponent",
                                   "text",
                                   "quote in text",
                                   "blob",
                                   "null",
                                   "true",
                                   "false",
                                   "comment --",
                                   "comment /*",
                                   "quoted name",
                                   "other case",
                                   "number with text column",
                                   "text with number column",
                                   "real with integer column",
                                   "extreme real with integer column",
                                   "large integer with real column",
                                   "column with column",
                                   "key = value",
                                   "key range",
                                   "access scan",
                                   "access range",
                                   "access get",
                                   "access count",
                                   "path scan",
                                   "path count",
                                   "path key",
                                   "path key in",
                                   "path key range",
                                   "path key like",
                                   "path index value, hash",
                                   "path index value, tree",
                                   "path index in, hash",
                                   "path index in, tree",
                                   "path index range",
                                   "path index like",
                                   "path index in order",
                                   "index: update",
                                   "index: update of its column",
                                   "index: update along it",
                                   "index: delete",
                                   "index: is null",
                                   "index: equal in order of the key",
                                   "index: ties in order of the key",
                                   "index: ties in any order",
                                   "several passes: index",
                                   "several passes: order by",
                                   "several passes: group by",
                                   "several passes: update",
                                   "tiny memory",
                                   "bound",
                                   "literal"};

const char* const patterns_of_range[] = {"a%", "AB%", "1%", "x_y%", "it's%", "zebra%", "-3", "abc%", "abcK%"};

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  bool percent(std::uint64_t n) { return below(100) < n; }
  template <typename List>
  const auto& any(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937_64 random_;
};

struct Column {
  std::string name;
  lunar_type type = LUNAR_NULL;
  bool not_null = false;
  bool key = false;
};

struct Index {
  std::string name;
  std::size_t column = 0;
  bool tree = true;
};

struct Table {
  std::string name;
  std::vector<Index> indexes;
  std::vector<Column> columns;
  std::size_t key = 0;
  bool tree = true;
  unsigned ring = 0;
};

// A value whose address is stable while a statement runs.
struct Value {
  lunar_type type = LUNAR_NULL;
  std::int64_t integer = 0;
  double real = 0;
  std::string bytes;
};

struct Text {
  std::string lunar, sqlite;
  std::vector<Value> bound;
  void add(const std::string& text) { lunar += text, sqlite += text; }
};

struct Outcome {
  bool failed = false;
  std::string why;
  std::vector<std::vector<Value>> rows;
  std::int64_t changes = 0;
};

bool is_integer(lunar_type type) { return type >= LUNAR_INT8 && type <= LUNAR_INT64; }
bool is_number(lunar_type type) { return type >= LUNAR_INT8 && type <= LUNAR_BOOLEAN; }

// The order of additions in SUM and AVG may differ.
bool close(double a, double b) { return a == b || std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b)); }

int order_of(const Value& a, const Value& b) {
  const auto rank = [](const Value& v) {
    return v.type == LUNAR_NULL ? 0 : v.type == LUNAR_TEXT ? 2 : v.type == LUNAR_BLOB ? 3 : 1;
  };
  if (rank(a) != rank(b)) return rank(a) - rank(b);
  if (rank(a) >= 2) return a.bytes.compare(b.bytes);
  const double left = a.type == LUNAR_REAL ? a.real : static_cast<double>(a.integer);
  const double right = b.type == LUNAR_REAL ? b.real : static_cast<double>(b.integer);
  return left < right ? -1 : left > right ? 1 : a.integer < b.integer ? -1 : a.integer > b.integer;
}

bool same(const Value& a, const Value& b) {
  if (a.type == LUNAR_REAL && b.type == LUNAR_REAL) return close(a.real, b.real);
  return a.type == b.type && a.integer == b.integer && a.bytes == b.bytes;
}

std::string shown(const Value& v) {
  lunar_value value{};
  value.type = static_cast<std::uint8_t>(v.type), value.as.integer = v.integer;
  if (v.type == LUNAR_REAL) value.as.real = v.real;
  if (v.type >= LUNAR_TEXT) value.as.data = v.bytes.data(), value.bytes = static_cast<std::uint32_t>(v.bytes.size());
  return lunar_test::shown(value);
}

std::string shown(const std::vector<std::vector<Value>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (const auto& value : row) text += shown(value) + " ";
    text += "\n";
  }
  return text;
}

class Contest {
 public:
  Contest(std::uint64_t seed, bool tiny) : choices_(seed), tiny_(tiny) {
    for (const char* production : productions) counts_[production];
    EXPECT_EQ(sqlite3_open(":memory:", &sqlite_), SQLITE_OK);
  }
  ~Contest() { sqlite3_close(sqlite_); }
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  void run(std::uint64_t statements) {
    create();
    for (made_ = 0; made_ < statements && !failed_; ++made_) step();
    end_transaction();
    compare_tables();
  }
  bool failed() const { return failed_; }
  void add_counts(std::map<std::string, std::uint64_t>& to) const {
    for (const auto& [production, count] : counts_) to[production] += count;
  }
  std::uint64_t selects = 0, selects_with_rows = 0, selects_of_rows = 0, selects_of_rows_with_rows = 0, made_ = 0;

 private:
  void used(const std::string& production) {
    if (counts_.count(production) == 0) ADD_FAILURE() << "no production " << production;
    ++counts_[production];
  }
  std::string as(const std::string& production, const std::string& sql_text) {
    used(production);
    return sql_text;
  }
  // Returns the production's name as its text.
  std::string word(const std::string& production) {
    used(production);
    return production;
  }

  // --- execution ---

  Outcome by_sqlite(const Text& text) {
    Outcome outcome;
    sqlite3_stmt* statement = nullptr;
    const int before = sqlite3_total_changes(sqlite_);
    int result = sqlite3_prepare_v2(sqlite_, text.sqlite.c_str(), -1, &statement, nullptr);
    if (result != SQLITE_OK) ADD_FAILURE() << "SQLite does not take " << text.sqlite << ": " << sqlite3_errmsg(sqlite_);
    for (int i = 1; const auto& v : text.bound) {
      if (v.type == LUNAR_NULL)
        sqlite3_bind_null(statement, i);
      else if (v.type == LUNAR_REAL)
        sqlite3_bind_double(statement, i, v.real);
      else if (v.type == LUNAR_TEXT)
        sqlite3_bind_text(statement, i, v.bytes.data(), static_cast<int>(v.bytes.size()), SQLITE_STATIC);
      else if (v.type == LUNAR_BLOB)
        sqlite3_bind_blob(statement, i, v.bytes.data(), static_cast<int>(v.bytes.size()), SQLITE_STATIC);
      else
        sqlite3_bind_int64(statement, i, v.integer);
      ++i;
    }
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
      auto& row = outcome.rows.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        Value& v = row.emplace_back();
        switch (sqlite3_column_type(statement, i)) {
          case SQLITE_INTEGER:
            v.type = LUNAR_INT64, v.integer = sqlite3_column_int64(statement, i);
            break;
          case SQLITE_FLOAT:
            v.type = LUNAR_REAL, v.real = sqlite3_column_double(statement, i);
            break;
          case SQLITE_TEXT:
          case SQLITE_BLOB:
            v.type = sqlite3_column_type(statement, i) == SQLITE_TEXT ? LUNAR_TEXT : LUNAR_BLOB;
            v.bytes.assign(static_cast<const char*>(sqlite3_column_blob(statement, i)) != nullptr
                               ? static_cast<const char*>(sqlite3_column_blob(statement, i))
                               : "",
                           static_cast<std::size_t>(sqlite3_column_bytes(statement, i)));
            break;
          default:
            break;
        }
      }
    }
    outcome.failed = result != SQLITE_DONE;
    if (outcome.failed) outcome.why = sqlite3_errmsg(sqlite_), outcome.rows.clear();
    sqlite3_finalize(statement);
    outcome.changes = outcome.failed ? 0 : sqlite3_total_changes(sqlite_) - before;
    return outcome;
  }

  Outcome by_lunar(const Text& text) {
    Outcome outcome;
    // In a transaction, a change with too little memory would lose the transaction.
    const std::size_t first = tiny_ && !transaction_ ? 1024 + 64 * choices_.below(16) : 262144;
    for (std::size_t bytes = first;; bytes += 512) {
      outcome = by_lunar(text, bytes);
      if (error_ != LUNAR_E_BUFFER || bytes > 600000) break;
    }
    if (tiny_) used("tiny memory");
    return outcome;
  }

  Outcome by_lunar(const Text& text, std::size_t memory_bytes) {
    Outcome outcome;
    memory_.resize(memory_bytes / 8);
    lunar_statement* statement = nullptr;
    const auto& sql = text.lunar;
    error_ = lunar_prepare(&database_.db, sql.data(), sql.size(), memory_.data(), memory_bytes, &statement, nullptr);
    for (unsigned i = 0; error_ == 0 && i < text.bound.size(); ++i) {
      const Value& v = text.bound[i];
      error_ = v.type == LUNAR_NULL   ? lunar_bind_null(statement, i + 1)
               : v.type == LUNAR_REAL ? lunar_bind_double(statement, i + 1, v.real)
               : v.type == LUNAR_TEXT ? lunar_bind_text(statement, i + 1, v.bytes.data(), v.bytes.size())
               : v.type == LUNAR_BLOB ? lunar_bind_blob(statement, i + 1, v.bytes.data(), v.bytes.size())
                                      : lunar_bind_int64(statement, i + 1, v.integer);
    }
    while (error_ == 0 && (error_ = lunar_step(statement)) == LUNAR_ROW) {
      error_ = 0;
      auto& row = outcome.rows.emplace_back();
      for (unsigned i = 0; i < lunar_column_count(statement); ++i) {
        const lunar_value* value = lunar_column_value(statement, i);
        Value& v = row.emplace_back();
        v.type = value->type == LUNAR_BOOLEAN ? LUNAR_INT64 : static_cast<lunar_type>(value->type);
        if (v.type == LUNAR_INT64) v.integer = value->as.integer;
        if (v.type == LUNAR_REAL) v.real = value->as.real;
        if (v.type >= LUNAR_TEXT) v.bytes = bytes_of(*value);
      }
    }
    several_passes_ = statement != nullptr && sql_peek_several_passes(statement) != 0;
    if (statement != nullptr) path(statement);
    outcome.failed = error_ != 0;
    if (outcome.failed) outcome.rows.clear(), outcome.why = lunar_error_text(error_);
    if (outcome.failed && statement != nullptr)
      outcome.why += std::string(": ") + lunar_sql_error(statement)->text + ": " +
                     std::string(lunar_sql_error(statement)->token, lunar_sql_error(statement)->bytes);
    if (statement != nullptr) outcome.changes = static_cast<std::int64_t>(lunar_changes(statement));
    lunar_finalize(statement);
    return outcome;
  }

  void path(const lunar_statement* statement) {
    index_ = sql_peek_index(statement), by_index_ = sql_peek_ordered_by_index(statement) != 0;
    const char* found = sql_peek_path(statement);
    if (error_ != 0 || found == nullptr) return;
    used(found);
    if (several_passes_ && !index_.empty()) used("several passes: index");
  }

  Outcome both(const Text& text, bool ordered, bool refused_is_known = false) {
    const Outcome theirs = by_sqlite(text), ours = by_lunar(text);
    auto left = ours.rows, right = theirs.rows;
    const auto before = [](const std::vector<Value>& a, const std::vector<Value>& b) {
      for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
        if (const int order = order_of(a[i], b[i]); order != 0) return order < 0;
      return false;
    };
    if (!ordered) std::sort(left.begin(), left.end(), before), std::sort(right.begin(), right.end(), before);
    bool equal = ours.failed == theirs.failed && ours.changes == theirs.changes && left.size() == right.size();
    for (std::size_t i = 0; equal && i < left.size(); ++i)
      equal = left[i].size() == right[i].size() && std::equal(left[i].begin(), left[i].end(), right[i].begin(), same);
    if (ours.failed && !refused_is_known && error_ != LUNAR_E_INVALID && error_ != LUNAR_E_EXISTS) equal = false;
    // An intermediate overflow of a sum depends on the order of the rows, which neither promises.
    const bool overflow = ours.why.find("64-bit") != std::string::npos || theirs.why == "integer overflow";
    if (overflow && ours.failed != theirs.failed) equal = true;
    if (!equal) {
      failed_ = true;
      ADD_FAILURE() << "statement " << made_ << ": " << text.lunar << "\nSQLite: " << text.sqlite
                    << "\nbound: " << shown({text.bound}) << "lunar " << (ours.failed ? ours.why : "") << ", "
                    << ours.changes << " changes, " << left.size() << " rows:\n"
                    << shown(left) << "SQLite " << theirs.why << ", " << theirs.changes << " changes, " << right.size()
                    << " rows:\n"
                    << shown(right);
    }
    return ours;
  }

  // --- values ---

  Value integer_for(lunar_type type) {
    static const std::int64_t limits[] = {127, 32767, 2147483647, INT64_MAX};
    const std::int64_t limit = limits[type - LUNAR_INT8];
    Value v;
    v.type = LUNAR_INT64, v.integer = static_cast<std::int64_t>(choices_.below(24)) - 4;
    if (choices_.one_in(12))
      v.integer = choices_.one_in(2) ? limit - static_cast<std::int64_t>(choices_.below(2)) : -limit - 1;
    if (type == LUNAR_INT64 && choices_.one_in(16)) v.integer = around_2_53();
    return v;
  }

  // From 2^53 on not every integer is a REAL.
  std::int64_t around_2_53() {
    const std::int64_t beside = (std::int64_t{1} << 53) - 1 + static_cast<std::int64_t>(choices_.below(4));
    return choices_.one_in(2) ? beside : -beside;
  }

  // Limits of the integers, the first integers closer together than REALs, and infinities.
  Value extreme_real() {
    static const double reals[] = {-9223372036854775808.0,
                                   -9223372036854775808.0,
                                   9223372036854775808.0,
                                   9007199254740992.0,
                                   -9007199254740992.0,
                                   9007199254740994.0,
                                   -9223372036854777856.0,
                                   9223372036854774784.0,
                                   -0.0,
                                   HUGE_VAL,
                                   -HUGE_VAL};
    Value v;
    used("extreme real with integer column");
    v.type = LUNAR_REAL, v.real = choices_.any(reals);
    return v;
  }

  // Returns a constant that may equal the column in some rows, mostly of the column's type.
  Value equal_to(const Column& column) {
    if (column.type == LUNAR_REAL && choices_.one_in(8)) {
      Value v;
      used("large integer with real column");
      v.type = LUNAR_INT64, v.integer = choices_.one_in(4) ? INT64_MAX : around_2_53();
      return v;
    }
    return is_integer(column.type) && choices_.one_in(4) ? extreme_real() : value_for(column);
  }

  Value value_for(const Column& column) {
    static const double reals[] = {0,
                                   1.5,
                                   -2.25,
                                   0.1,
                                   3,
                                   1e10,
                                   -0.5,
                                   2.5e-3,
                                   7,
                                   2.5e20,
                                   1e17,
                                   -0.0,
                                   9007199254740992.0,
                                   9223372036854775808.0,
                                   HUGE_VAL,
                                   -HUGE_VAL};
    static const char* const texts[] = {
        "", "a", "ab", "abc", "b", "Abc", "ABCk", "x y", "it's", "12", "-3", "\xc3\xa9t\xc3\xa9", "zebra"};
    Value v;
    v.type = column.type;
    if (!column.not_null && choices_.percent(15)) {
      v.type = LUNAR_NULL;
    } else if (is_integer(column.type)) {
      v = integer_for(column.type);
    } else if (column.type == LUNAR_REAL) {
      v.real = choices_.any(reals);
    } else if (column.type == LUNAR_BOOLEAN) {
      v.type = choices_.one_in(2) ? LUNAR_BOOLEAN : LUNAR_INT64, v.integer = choices_.one_in(2);
    } else {
      v.bytes = choices_.any(texts);
      // Longer than the part of a text that a tree stores, except for a key.
      if (choices_.one_in(8)) v.bytes += std::string(choices_.below(40), 'k');
      if (!column.key && choices_.one_in(16)) v.bytes = std::string(48 + choices_.below(4), 'k');
      if (column.type == LUNAR_BLOB && choices_.one_in(15)) v.bytes += std::string("\0\xff", choices_.below(3));
    }
    return v;
  }

  std::string literal(const Value& v) {
    char number[64];
    switch (v.type) {
      case LUNAR_NULL:
        return word("null");
      case LUNAR_BOOLEAN:
        return word(v.integer != 0 ? "true" : "false");
      case LUNAR_REAL:
        // 15 digits if they give the same number, else all digits of the integer.
        std::snprintf(number, sizeof number, "%.15g", v.real);
        if (std::isinf(v.real))
          std::strcpy(number, v.real > 0 ? "9e999" : "-9e999");
        else if (std::strtod(number, nullptr) != v.real)
          std::snprintf(number, sizeof number, "%.1f", v.real);
        if (std::strchr(number, 'e') != nullptr) {
          used("exponent");
        } else if (std::strchr(number, '.') == nullptr) {
          std::strcat(number, ".0");
        }
        used("real number");
        return number;
      case LUNAR_TEXT: {
        used("text");
        std::string text = "'";
        for (const char c : v.bytes) {
          if (c == '\'') used("quote in text");
          text += c == '\'' ? "''" : std::string(1, c);
        }
        return text + "'";
      }
      case LUNAR_BLOB: {
        used("blob");
        std::string text = lunar_test::shown(blob(v.bytes));
        if (choices_.one_in(2)) text[0] = 'X';
        return text;
      }
      default:
        used("integer");
        return std::to_string(v.integer);
    }
  }

  // A constant, as a literal or as a parameter.
  void constant(Text& text, const Value& v) {
    if (!parameters_) {
      used("literal");
      return text.add(literal(v));
    }
    used("bound");
    text.bound.push_back(v);
    const auto number = text.bound.size();
    switch (style_) {
      case 0:
        return text.add(word("?"));
      case 1:
        used("?NNN");
        return text.add("?" + std::to_string(number));
      default:
        used(":name");
        return text.add(":p" + std::string(number, 'x'));
    }
  }

  // --- names ---

  std::string name(const std::string& plain) {
    if (choices_.one_in(12)) {
      used("quoted name");
      return "\"" + plain + "\"";
    }
    if (choices_.one_in(12)) {
      used("other case");
      std::string other = plain;
      for (auto& c : other) c = static_cast<char>(std::isupper(c) != 0 ? std::tolower(c) : std::toupper(c));
      return other;
    }
    return plain;
  }
  std::string space() {
    if (choices_.one_in(40)) return as("comment --", " -- it's\n");
    if (choices_.one_in(40)) return as("comment /*", " /* a ' comment */ ");
    return " ";
  }
  const Column& any_column(const Table& table) { return choices_.any(table.columns); }

  // --- tables ---

  std::string type_word(lunar_type type) {
    static const std::map<lunar_type, std::vector<const char*>> names = {
        {LUNAR_INT8, {"tinyint", "int8"}},
        {LUNAR_INT16, {"smallint", "int16"}},
        {LUNAR_INT32, {"int", "int32"}},
        {LUNAR_INT64, {"integer", "bigint", "int64"}},
        {LUNAR_REAL, {"real", "double", "float"}},
        {LUNAR_BOOLEAN, {"boolean", "bool"}},
        {LUNAR_TEXT, {"text", "varchar(n)", "char(n)"}},
        {LUNAR_BLOB, {"blob"}}};
    const std::string chosen = choices_.any(names.at(type));
    used("type " + chosen);
    return chosen.substr(0, chosen.find('(')) + (chosen.find('(') != std::string::npos ? "(40)" : "");
  }

  // Returns the CHECK that limits SQLite's column to lunar's type.
  static std::string check(const Column& column) {
    const std::string c = "\"" + column.name + "\"";
    static const char* const limits[] = {"-128 AND 127", "-32768 AND 32767", "-2147483648 AND 2147483647"};
    std::string is = "typeof(" + c + ")='integer'";
    if (column.type <= LUNAR_INT32) is += " AND " + c + " BETWEEN " + limits[column.type - LUNAR_INT8];
    if (column.type == LUNAR_BOOLEAN) is += " AND " + c + " IN (0,1)";
    if (column.type == LUNAR_REAL) is = "typeof(" + c + ")='real'";
    if (column.type == LUNAR_TEXT) is = "typeof(" + c + ")='text'";
    if (column.type == LUNAR_BLOB) is = "typeof(" + c + ")='blob'";
    return " CHECK (" + c + " IS NULL OR (" + is + "))";
  }

  void create() {
    static const char* const names[] = {"id", "Heat", "place", "count", "rows", "n", "Key_", "age", "text"};
    static const lunar_type types[] = {LUNAR_INT8, LUNAR_INT16,   LUNAR_INT32, LUNAR_INT64, LUNAR_INT64,
                                       LUNAR_REAL, LUNAR_BOOLEAN, LUNAR_TEXT,  LUNAR_TEXT,  LUNAR_BLOB};
    static const lunar_type keys[] = {LUNAR_INT64, LUNAR_INT32, LUNAR_INT16, LUNAR_TEXT, LUNAR_TEXT, LUNAR_BLOB};
    Table table;
    table.name = "T" + std::to_string(++tables_made_);
    std::vector<std::string> left(std::begin(names), std::end(names));
    const std::size_t columns = 2 + choices_.below(6);
    table.key = choices_.below(columns);
    for (std::size_t i = 0; i < columns; ++i) {
      const auto at = static_cast<std::ptrdiff_t>(choices_.below(left.size()));
      const lunar_type type = i == table.key ? choices_.any(keys) : choices_.any(types);
      table.columns.push_back(
          {left[static_cast<std::size_t>(at)], type, i == table.key || choices_.one_in(4), i == table.key});
      left.erase(left.begin() + at);
    }
    table.tree = choices_.percent(60);
    const bool constraint = choices_.one_in(4);
    Text text;
    text.add("CREATE TABLE ");
    used("create table");
    if (choices_.one_in(3)) used("create if not exists"), text.add("IF NOT EXISTS ");
    text.add(name(table.name) + " (");
    std::string index;
    if (!table.tree) used("using hash"), index = " USING HASH";
    if (table.tree && choices_.one_in(3)) used("using tree"), index = " USING TREE";
    for (std::size_t i = 0; i < columns; ++i) {
      const Column& c = table.columns[i];
      text.add((i != 0 ? ", " : "") + std::string("\"") + c.name + "\" ");
      const std::string type = type_word(c.type);
      text.lunar += type, text.sqlite += is_integer(c.type)                    ? "INT"
                                         : type == "float" || type == "double" ? "REAL"
                                                                               : type;
      if (i == table.key) {
        if (!constraint) text.add(" PRIMARY KEY"), text.lunar += index;
        text.sqlite += " NOT NULL";
      } else if (c.not_null) {
        used("not null"), text.add(" NOT NULL");
      }
      text.sqlite += check(c);
    }
    if (constraint) {
      used("key as constraint");
      text.add(", PRIMARY KEY (\"" + table.columns[table.key].name + "\")"), text.lunar += index;
    }
    text.add(")");
    if (choices_.one_in(10)) used("ring rows"), table.ring = 1000000, text.lunar += " RING ROWS 1000000";
    both(text, true);
    table_.push_back(table);
    for (int i = 0; i < 12; ++i) insert();
  }

  std::size_t numbers_taken() const {
    std::size_t taken = table_.size();
    for (const auto& table : table_) taken += table.indexes.size();
    return taken;
  }

  void create_index() {
    Table& table = table_[choices_.below(table_.size())];
    if (table.indexes.size() == LUNAR_INDEXES_MAX || numbers_taken() > 12) return;
    const bool again = !table.indexes.empty() && choices_.one_in(3), tolerant = choices_.one_in(3);
    Index index{again ? table.indexes[0].name : "I" + std::to_string(++indexes_made_),
                choices_.below(table.columns.size()), choices_.percent(65)};
    if (choices_.one_in(10)) index.column = table.key;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].type == LUNAR_TEXT && choices_.one_in(4)) index.column = i;
    Text text;
    text.add("CREATE INDEX ");
    used("create index");
    if (tolerant) used("create index if not exists"), text.add("IF NOT EXISTS ");
    text.add(name(index.name) + " ON" + space() + name(table.name) + " (\"" + table.columns[index.column].name + "\")");
    if (!index.tree)
      used("create index using hash"), text.lunar += " USING HASH";
    else if (choices_.one_in(2))
      used("create index using tree"), text.lunar += " USING TREE";
    if (again && !tolerant) {  // SQLite does not even prepare it
      used("create index refused");
      EXPECT_TRUE(by_lunar(text).failed && error_ == LUNAR_E_EXISTS) << text.lunar;
      return;
    }
    EXPECT_FALSE(both(text, true).failed) << text.lunar;
    if (again) return;
    table.indexes.push_back(index);
  }

  void drop_index() {
    auto& indexes = table_[choices_.below(table_.size())].indexes;
    Text text;
    const bool tolerant = choices_.one_in(2);
    text.add("DROP INDEX " + (tolerant ? as("drop index if exists", "IF EXISTS ") : ""));
    if (indexes.empty()) {
      text.add("gone");
      if (tolerant) both(text, true);
      return;
    }
    const auto at = choices_.below(indexes.size());
    text.add(name(indexes[at].name));
    used("drop index");
    if (transaction_) used("drop index in a transaction");
    both(text, true);
    indexes.erase(indexes.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void drop() {
    const auto at = choices_.below(table_.size());
    Text text;
    text.add("DROP TABLE " + (choices_.one_in(2) ? as("drop if exists", "IF EXISTS ") : "") + name(table_[at].name));
    used("drop table");
    both(text, true);
    table_.erase(table_.begin() + static_cast<std::ptrdiff_t>(at));
    if (choices_.one_in(3)) used("drop if exists"), both(text_of("DROP TABLE IF EXISTS gone"), true);
    if (table_.empty()) create();
  }
  static Text text_of(const std::string& sql_text) {
    Text text;
    text.add(sql_text);
    return text;
  }

  // --- changes ---

  // Returns a value that both refuse, of another type than the column's.
  Value wrong_for(const Column& column) {
    Value v;
    if (is_number(column.type)) {
      v.type = LUNAR_TEXT, v.bytes = "many";
      if (is_integer(column.type) && choices_.one_in(2)) v.type = LUNAR_REAL, v.real = 2.5;
      if (column.type <= LUNAR_INT32 && choices_.one_in(2)) v.type = LUNAR_INT64, v.integer = 1LL << 40;
    } else {
      v.type = column.type == LUNAR_TEXT ? LUNAR_BLOB : LUNAR_TEXT, v.bytes = "wrong";
    }
    return v;
  }

  void insert() {
    const Table& table = choices_.any(table_);
    Text text;
    std::vector<std::size_t> columns(table.columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = i;
    text.add("INSERT INTO" + space() + name(table.name));
    used("insert");
    if (choices_.one_in(2)) {
      used("insert with columns");
      for (std::size_t i = columns.size() - 1; i > 0; --i) std::swap(columns[i], columns[choices_.below(i + 1)]);
      for (std::size_t i = columns.size(); i-- > 0;)
        if (columns[i] != table.key && !table.columns[columns[i]].not_null && choices_.one_in(3))
          columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(i));
      for (std::size_t i = 0; i < columns.size(); ++i)
        text.add((i != 0 ? "," : " (") + name(table.columns[columns[i]].name));
      text.add(")");
    }
    text.add(space() + "VALUES ");
    const auto rows = choices_.one_in(3) ? 2 + choices_.below(4) : 1;
    if (rows > 1) used("insert several rows");
    const bool wrong = choices_.one_in(25);
    for (std::uint64_t r = 0; r < rows; ++r) {
      text.add(r != 0 ? ", (" : "(");
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const Column& c = table.columns[columns[i]];
        if (i != 0) text.add(",");
        Value v = value_for(c);
        if (columns[i] == table.key && choices_.percent(80)) {
          if (is_integer(c.type))
            v.integer = static_cast<std::int64_t>(choices_.below(100)), v.type = LUNAR_INT64;
          else
            v.bytes += static_cast<char>('a' + choices_.below(26)),
                v.bytes += static_cast<char>('a' + choices_.below(26));
        }
        constant(text, wrong && choices_.one_in(3) ? wrong_for(c) : v);
      }
      text.add(")");
    }
    change(text, "insert refused");
  }

  void change(const Text& text, const char* refused) {
    const Outcome outcome = both(text, true);
    if (!outcome.failed) return;
    used(refused);
    if (!transaction_) return;
    std::uint16_t first = 0;
    char found[LUNAR_NAME_MAX + 1];
    if (lunar_table_list(&database_.db, &first, found) != LUNAR_E_TXN) return;
    used("transaction lost");
    roll_back();
  }

  // Moves rows ahead in the index, beyond its cursor.
  void update_along(const Table& table, const Index& index) {
    const std::string column = name(table.columns[index.column].name);
    Value step, from;
    step.type = from.type = LUNAR_INT64;
    step.integer = 1 + static_cast<std::int64_t>(choices_.below(3)),
    from.integer = static_cast<std::int64_t>(choices_.below(9));
    Text text;
    used("index: update along it");
    text.add("UPDATE " + name(table.name) + " SET " + column + " = " + column + " + ");
    constant(text, step);
    text.add(" WHERE " + column + " BETWEEN ");
    constant(text, from);
    text.add(" AND ");
    from.integer += 6, constant(text, from);
    change(text, "update refused");
  }

  void update() {
    const Table& table = choices_.any(table_);
    for (const auto& index : table.indexes) {
      const Column& c = table.columns[index.column];
      if (!c.key && is_number(c.type) && c.type != LUNAR_BOOLEAN && choices_.one_in(4))
        return update_along(table, index);
    }
    Text text;
    text.add("UPDATE" + space() + name(table.name) + " SET ");
    used("update");
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (i != table.key && (columns.empty() || choices_.one_in(3))) columns.push_back(i);
    if (columns.size() > 1) used("update several columns");
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Column& c = table.columns[columns[i]];
      text.add((i != 0 ? ", " : "") + name(c.name) + " = ");
      const Column& from = any_column(table);
      if (is_number(c.type) && c.type != LUNAR_BOOLEAN && choices_.percent(50)) {
        text.add(name(c.name) +
                 (choices_.one_in(2) ? as("update column + literal", " + ") : as("update column - literal", " - ")));
        Value v;
        v.type = LUNAR_INT64, v.integer = static_cast<std::int64_t>(choices_.below(4));
        constant(text, v);
      } else if (from.type == c.type && choices_.one_in(2)) {
        used("update of another column");
        text.add(name(from.name));
      } else {
        used("update literal");
        constant(text, choices_.one_in(30) ? wrong_for(c) : value_for(c));
      }
    }
    if (choices_.percent(85)) where(text, table);
    change(text, "update refused");
    if (!index_.empty()) used("index: update");
    for (const auto& index : table.indexes)
      if (index.name == index_ && std::find(columns.begin(), columns.end(), index.column) != columns.end())
        used("index: update of its column");
    if (several_passes_ && !table.tree) used("several passes: update");
  }

  void remove() {
    const Table& table = choices_.any(table_);
    Text text;
    text.add("DELETE FROM " + name(table.name));
    used("delete");
    if (choices_.one_in(15)) {
      used("delete all");
    } else {
      // Deletes a few rows.
      text.add(" WHERE ");
      if (!table.indexes.empty() && choices_.one_in(3)) {
        index_term(text, table, choices_.any(table.indexes));
        text.add(" AND ");
        term(text, table, 0);
      } else {
        text.add(name(table.columns[table.key].name) + " = ");
        constant(text, value_for(table.columns[table.key]));
        if (choices_.percent(30)) text.add(" OR "), term(text, table, 0);
      }
    }
    both(text, true);
    if (!index_.empty()) used("index: delete");
  }

  // --- WHERE ---

  void where(Text& text, const Table& table) {
    text.add(space() + "WHERE ");
    used("where");
    if (!table.indexes.empty() && choices_.percent(40)) {
      index_term(text, table, choices_.any(table.indexes));
      if (choices_.one_in(2)) return;
      text.add(" AND ");
      return term(text, table, 0);
    }
    condition(text, table, 0);
  }

  // Adds a condition that the index can evaluate.
  void index_term(Text& text, const Table& table, const Index& index) {
    static const char* const ranges[] = {" < ", " <= ", " > ", " >= "};
    const Column& c = table.columns[index.column];
    text.add(name(c.name));
    switch (choices_.below(7)) {
      case 0:
        used("index: is null");
        return text.add(" IS NULL");
      case 1:
      case 2: {
        text.add(" IN (");
        const auto items = 1 + choices_.below(6);
        for (std::uint64_t i = 0; i < items; ++i) {
          if (i != 0) text.add(", ");
          constant(text, equal_to(c));
        }
        return text.add(")");
      }
      case 3:
        text.add(choices_.any(ranges));
        return other_side(text, table, c);
      case 4: {
        Value low = value_for(c), high = value_for(c);
        if (order_of(low, high) > 0) std::swap(low, high);
        text.add(" BETWEEN ");
        constant(text, low);
        text.add(" AND ");
        return constant(text, high);
      }
      case 5:
        if (c.type == LUNAR_TEXT) {
          Value v;
          v.type = LUNAR_TEXT, v.bytes = choices_.any(patterns_of_range);
          text.add(" LIKE ");
          return constant(text, v);
        }
        [[fallthrough]];
      default:
        text.add(" = ");
        if (is_number(c.type) && choices_.one_in(4)) return constant(text, equal_to(c));
        return other_side(text, table, c);
    }
  }

  void condition(Text& text, const Table& table, int depth) {
    if (depth < 3 && choices_.percent(40)) {
      const bool all = choices_.percent(35);
      const auto terms = 2 + choices_.below(2);
      if (all && choices_.percent(40)) key_range(text, table), text.add(" AND ");
      for (std::uint64_t i = 0; i < terms; ++i) {
        if (i != 0) text.add(all ? as("and", " AND ") : as("or", " OR "));
        const bool parentheses = choices_.one_in(2);
        if (parentheses) used("parentheses"), text.add("(");
        parentheses ? condition(text, table, depth + 1) : term(text, table, depth + 1);
        if (parentheses) text.add(")");
      }
      return;
    }
    term(text, table, depth);
  }

  void key_range(Text& text, const Table& table) {
    const Column& key = table.columns[table.key];
    used("key range");
    if (key.type == LUNAR_TEXT && choices_.one_in(2)) {
      Value v;
      v.type = LUNAR_TEXT, v.bytes = choices_.any(patterns_of_range);
      text.add(name(key.name) + " LIKE ");
      constant(text, v);
    } else if (choices_.one_in(2)) {
      text.add(name(key.name) + (choices_.one_in(2) ? " >= " : " < "));
      constant(text, value_for(key));
    } else {
      constant(text, value_for(key));
      text.add((choices_.one_in(2) ? " < " : " >= ") + name(key.name));
    }
  }

  // Adds the other side of a column's comparison, mostly of its type.
  void other_side(Text& text, const Table& table, const Column& column) {
    Value v = value_for(column);
    if (choices_.percent(12)) {
      if (is_number(column.type)) {
        static const char* const texts[] = {"5", " 12 ", "1.5", "abc", "-3", "7e0"};
        if (choices_.one_in(2)) {
          used("text with number column");
          v.type = LUNAR_TEXT, v.bytes = choices_.any(texts);
        } else {
          used("real with integer column");
          v.type = LUNAR_REAL, v.real = choices_.one_in(2) ? 4.0 : 4.5;
          if (choices_.one_in(2)) v = extreme_real();
        }
      } else if (column.type == LUNAR_TEXT) {
        used("number with text column");
        v = integer_for(LUNAR_INT8);
      }
    } else if (choices_.percent(10)) {
      used("column with column");
      return text.add(name(any_column(table).name));
    }
    constant(text, v);
  }

  void term(Text& text, const Table& table, int depth) {
    if (choices_.one_in(8)) {
      used("not");
      text.add("NOT ");
    }
    const Column& key = table.columns[table.key];
    if (choices_.one_in(12)) {
      if (key.type == LUNAR_TEXT && choices_.one_in(2)) {
        Value v;
        v.type = LUNAR_TEXT, v.bytes = choices_.any(patterns_of_range);
        text.add(name(key.name) + " LIKE ");
        return constant(text, v);
      }
      used("key = value");
      text.add(name(key.name) + " = ");
      return constant(text, value_for(key));
    }
    const Column& c = any_column(table);
    const std::string column = name(c.name);
    switch (choices_.below(9)) {
      case 0:
        text.add(column + (choices_.percent(30) ? as("is null", " IS NULL") : as("is not null", " IS NOT NULL")));
        return;
      case 1: {
        text.add(column + (choices_.percent(30) ? as("is", " IS ") : as("is not", " IS NOT ")));
        Value v = value_for(c);
        if (v.type == LUNAR_BOOLEAN) v.type = LUNAR_INT64;  // IS TRUE is another operator
        return constant(text, v);
      }
      case 2: {
        text.add(column + (choices_.percent(60) ? as("in", " IN (") : as("not in", " NOT IN (")));
        const auto items = 1 + choices_.below(8);
        for (std::uint64_t i = 0; i < items; ++i) {
          Value v = equal_to(c);
          if (v.type == LUNAR_NULL && !choices_.one_in(4)) v = value_for(c);
          if (v.type == LUNAR_NULL) used("in with null");
          if (i != 0) text.add(", ");
          constant(text, v);
        }
        return text.add(")");
      }
      case 3: {
        static const char* const patterns[] = {"%", "a%", "A%", "%b%", "_b%", "k%", "%", "%c", "x y", "1%", "_", "-%"};
        if (c.type == LUNAR_REAL || c.type == LUNAR_BLOB) break;
        text.add(column + (choices_.percent(70) ? as("like", " LIKE ") : as("not like", " NOT LIKE ")));
        Value v;
        v.type = LUNAR_TEXT, v.bytes = choices_.any(patterns);
        return constant(text, v);
      }
      case 4: {
        text.add(column + (choices_.percent(70) ? as("between", " BETWEEN ") : as("not between", " NOT BETWEEN ")));
        Value low = value_for(c), high = value_for(c);
        if (order_of(low, high) > 0) std::swap(low, high);
        constant(text, low);
        text.add(" AND ");
        return constant(text, high);
      }
      case 5: {
        if (!is_number(c.type)) break;
        if (choices_.one_in(3)) {
          text.add(choices_.one_in(2) ? as("unary -", "- ") + column : as("unary +", "+") + column);
        } else {
          text.add(column + (choices_.one_in(2) ? as("+", " + ") : as("-", " - ")));
          constant(text, choices_.one_in(3) ? value_for(c) : integer_for(LUNAR_INT8));
        }
        text.add(" <= ");
        return constant(text, value_for(c));
      }
      default:
        break;
    }
    static const char* const signs[] = {"=", "==", "<>", "!=", "<", "<=", ">", ">=", ">=", "<>"};
    const char* sign = choices_.any(signs);
    used(sign);
    if (choices_.percent(85) || depth > 2) {
      text.add(column + " " + sign + " ");
      return other_side(text, table, c);
    }
    other_side(text, table, c);
    text.add(std::string(" ") + sign + " " + column);
  }

  // --- SELECT ---

  void aggregates(Text& text, const Table& table) {
    const auto count = 1 + choices_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      const Column& c = any_column(table);
      if (i != 0) text.add(", ");
      const bool expression = choices_.one_in(8);
      switch (choices_.below(6)) {
        case 0:
          used("count(*)"), text.add("COUNT(*)");
          break;
        case 1:
          used("count"), text.add("count(" + name(c.name) + ")");
          break;
        case 2:
          used("min"), text.add("MIN(" + name(c.name) + ")");
          continue;
        case 3:
          used("max"), text.add("Max(" + name(c.name) + ")");
          continue;
        default:
          if (!is_number(c.type)) {
            used("count(*)"), text.add("COUNT(*)");
          } else {
            // An average of the largest integers depends on the order.
            text.add((c.type == LUNAR_INT64 || choices_.percent(60) ? as("sum", "SUM(") : as("avg", "AVG (")) +
                     name(c.name) + ")");
          }
      }
      if (expression) used("aggregate in expression"), text.add(" + 1");
    }
  }

  void select() {
    const Table& table = choices_.any(table_);
    const std::string key = "\"" + table.columns[table.key].name + "\"";
    const lunar_type key_type = table.columns[table.key].type;
    Text text;
    text.add("SELECT" + space());
    used("select");
    const bool aggregated = choices_.percent(25), grouped = choices_.percent(aggregated ? 50 : 5);
    if (choices_.one_in(25)) {
      text.add("COUNT(*) FROM " + name(table.name));
      explain(text);
      both(text, true);
      return;
    }
    // Orders by an index, with its column first in the result.
    const Index* order = nullptr;
    if (!aggregated && !grouped && !table.indexes.empty() && choices_.percent(40)) {
      order = &choices_.any(table.indexes);
      for (const auto& index : table.indexes)
        if (index.tree && is_number(table.columns[index.column].type) && choices_.one_in(2)) order = &index;
      text.add(name(table.columns[order->column].name) + ", ");
    }
    const Column& group = any_column(table);
    const std::string group_name = name(group.name);
    if (grouped) text.add(group_name + (aggregated ? ", " : ""));
    if (aggregated) {
      aggregates(text, table);
    } else if (!grouped && choices_.one_in(3)) {
      used("select *");
      text.add("*");
    } else if (!grouped) {
      used("select columns");
      const auto count = 1 + choices_.below(4);
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i != 0) text.add(", ");
        const Column& c = any_column(table);
        text.add(name(c.name));
        if (choices_.one_in(8)) {
          used("select expression");
          text.add(is_number(c.type) ? " + 1" : " IS NULL");
        }
        if (choices_.one_in(8)) used("select as"), text.add(" AS other");
      }
    }
    text.add(space() + "FROM " + name(table.name));
    if (choices_.percent(order != nullptr ? 20 : 70)) where(text, table);
    if (grouped) used("group by"), text.add(" GROUP BY " + group_name);
    bool ordered = false;
    bool descending = false, any_order = false;
    if (grouped ? choices_.one_in(3) : order != nullptr || (!aggregated && choices_.percent(50))) {
      used("order by");
      ordered = true;
      const std::string direction[] = {"", " ASC", " DESC"};
      const auto way = choices_.below(3);
      if (way != 0) used(way == 1 ? "asc" : "desc");
      if (grouped) {
        used("order by group");
        text.add(" ORDER BY " + group_name + direction[way]);
      } else if (order == nullptr && choices_.one_in(table.indexes.empty() ? 3 : 2)) {
        used("order by key");
        text.add(" ORDER BY " + key + direction[way]);
        explain(text);
        if (by_index_) used("index: equal in order of the key");
      } else {
        const Column& by = order != nullptr ? table.columns[order->column] : any_column(table);
        text.add(" ORDER BY " + name(by.name) + direction[way]);
        if (choices_.one_in(order != nullptr ? 3 : 2)) {
          used("order by several");
          text.add(", " + name(any_column(table).name) + (choices_.one_in(2) ? as("desc", " DESC") : ""));
        }
        // An index orders ties by numeric keys; a descending one reverses them.
        explain(text);
        descending = way == 2;
        if (by_index_) used(is_number(key_type) ? "index: ties in order of the key" : "index: ties in any order");
        any_order = by_index_ && !is_number(key_type);
        text.sqlite += ", " + key + (by_index_ && descending ? " DESC" : "");
      }
      if (!any_order && choices_.percent(40)) {
        used("limit");
        Value v;
        v.type = LUNAR_INT64, v.integer = static_cast<std::int64_t>(choices_.below(12)) + (choices_.one_in(6) ? -1 : 1);
        text.add(" LIMIT ");
        constant(text, v);
        if (choices_.one_in(2)) {
          used("offset");
          text.add(" OFFSET ");
          v.integer = static_cast<std::int64_t>(choices_.below(5));
          constant(text, v);
        }
      }
    }
    const Outcome outcome = both(text, ordered && !any_order);
    for (std::size_t i = 1; any_order && order != nullptr && i < outcome.rows.size(); ++i)
      EXPECT_TRUE((descending ? -1 : 1) * order_of(outcome.rows[i - 1][0], outcome.rows[i][0]) <= 0) << text.lunar;
    if (outcome.failed) used("sum overflow");
    ++selects, selects_with_rows += !outcome.rows.empty();
    if (!aggregated || grouped) ++selects_of_rows, selects_of_rows_with_rows += !outcome.rows.empty();
    if (several_passes_) used(grouped ? "several passes: group by" : "several passes: order by");
    if (choices_.one_in(8)) explain(text);
  }

  void explain(const Text& text) {
    Text plan;
    plan.lunar = "EXPLAIN " + text.lunar, plan.bound = text.bound;
    const Outcome outcome = by_lunar(plan);
    ASSERT_FALSE(outcome.rows.empty()) << plan.lunar << outcome.why;
    const std::string& path = outcome.rows[0][0].bytes;
    used(path.find("one row") != std::string::npos          ? "access get"
         : path.find("range") != std::string::npos          ? "access range"
         : path.find("number of rows") != std::string::npos ? "access count"
                                                            : "access scan");
  }

  // --- transactions ---

  void begin() {
    used("begin");
    both(text_of(choices_.one_in(2) ? "BEGIN" : "BEGIN TRANSACTION"), true);
    transaction_ = true;
    tables_before_ = table_;
  }
  void end_transaction() {
    if (!transaction_) return;
    if (choices_.one_in(3)) {
      used("rollback");
      return roll_back();
    }
    both(text_of(choices_.one_in(2) ? as("commit", "COMMIT") : as("end", "END TRANSACTION")), true);
    transaction_ = false;
  }
  void roll_back() {
    both(text_of("ROLLBACK"), true);
    transaction_ = false;
    table_ = tables_before_;
  }

  void compare_tables() {
    for (const auto& table : table_) {
      Text text;
      text.add("SELECT * FROM " + table.name);
      both(text, false);
    }
  }

  void step() {
    parameters_ = choices_.one_in(2), style_ = choices_.below(3);
    const auto what = choices_.below(1000);
    if (what < 8 && table_.size() < 6) return create();
    if (what < 12 && !transaction_) return drop();
    if (what >= 984 && !transaction_) return create_index();
    if (what >= 980) return drop_index();
    if (what < 30) return transaction_ ? end_transaction() : begin();
    if (what < 190) return insert();
    if (what < 260) return update();
    if (what < 300) return remove();
    if (what < 302) return compare_tables();
    return select();
  }

  Choices choices_;
  bool tiny_;
  Database database_;
  sqlite3* sqlite_ = nullptr;
  std::map<std::string, std::uint64_t> counts_;
  std::vector<std::uint64_t> memory_;
  std::vector<Table> table_, tables_before_;
  unsigned tables_made_ = 0, indexes_made_ = 0;
  std::string index_;  // of the last statement's path
  bool by_index_ = false;
  bool parameters_ = false, transaction_ = false, failed_ = false, several_passes_ = false;
  std::uint64_t style_ = 0;
  int error_ = 0;
};

void contest(std::uint64_t statements, bool every_production) {
  const std::uint64_t seed = test_seed(), each = 1000;
  if (const char* text = std::getenv("LUNAR_STATEMENTS")) statements = std::strtoull(text, nullptr, 10);
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t selects = 0, with_rows = 0, of_rows = 0, of_rows_with_rows = 0, made = 0;
  for (std::uint64_t i = 0; made < statements; ++i) {
    Contest one(1000003 * seed + i, i % 2 == 1);
    one.run(each);
    made += one.made_, selects += one.selects, with_rows += one.selects_with_rows;
    of_rows += one.selects_of_rows, of_rows_with_rows += one.selects_of_rows_with_rows;
    one.add_counts(counts);
    if (one.failed() || testing::Test::HasFailure()) {
      std::printf("failed in round %llu\n", static_cast<unsigned long long>(i));
      return;
    }
  }
  std::printf("%llu statements; %llu SELECTs, %.1f %% with rows; without one-row aggregates %llu, %.1f %%\n",
              static_cast<unsigned long long>(made), static_cast<unsigned long long>(selects),
              100.0 * static_cast<double>(with_rows) / static_cast<double>(selects),
              static_cast<unsigned long long>(of_rows),
              100.0 * static_cast<double>(of_rows_with_rows) / static_cast<double>(of_rows));
  int column = 0;
  for (const auto& [production, count] : counts)
    std::printf("%-26s%9llu%s", production.c_str(), static_cast<unsigned long long>(count),
                ++column % 3 == 0 ? "\n" : "   ");
  std::printf("\n");
  EXPECT_GE(5 * of_rows_with_rows, 3 * of_rows);
  for (const auto& [production, count] : counts)
    if (every_production) {
      EXPECT_GT(count, 0u) << production;
    }
}

// Returns SQLite's rows of a query in the form of Database::result.
std::string sqlite_result(sqlite3* sqlite, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(sqlite, sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
  std::string rows;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (!rows.empty()) rows += "|";
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      if (i != 0) rows += " ";
      Value v;
      if (sqlite3_column_type(statement, i) == SQLITE_INTEGER)
        v.type = LUNAR_INT64, v.integer = sqlite3_column_int64(statement, i);
      else if (sqlite3_column_type(statement, i) == SQLITE_FLOAT)
        v.type = LUNAR_REAL, v.real = sqlite3_column_double(statement, i);
      rows += shown(v);
    }
  }
  sqlite3_finalize(statement);
  return rows;
}

// SQLite stores a NaN as NULL. lunar stores it, and its aggregates ignore it like NULL.
TEST(SqlBesideSqlite, aggregates_of_reals_with_nan_and_infinities_are_the_same) {
  static const double reals[] = {std::nan(""), -std::nan(""), HUGE_VAL, -HUGE_VAL, 20.5, -3, 0, 1e17};
  Choices choices(test_seed());
  for (int round = 0; round < 60; ++round) {
    Database database;
    sqlite3* sqlite = nullptr;
    ASSERT_EQ(sqlite3_open(":memory:", &sqlite), SQLITE_OK);
    const char* const table = "CREATE TABLE t (id INTEGER PRIMARY KEY, g INTEGER, r REAL)";
    ASSERT_EQ(database.all(table), 0);
    lunar_table rows{};
    ASSERT_EQ(lunar_table_open(&database.db, "t", &rows), 0);
    ASSERT_EQ(sqlite3_exec(sqlite, table, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_stmt* insert = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(sqlite, "INSERT INTO t VALUES (?, ?, ?)", -1, &insert, nullptr), SQLITE_OK);
    for (int id = 0; id < 12; ++id) {
      const int group = static_cast<int>(choices.below(4));
      lunar_value real{};
      real.type = LUNAR_REAL, real.as.real = choices.any(reals);
      const lunar_value row[] = {integer(id), integer(group), real};
      ASSERT_EQ(lunar_insert(&rows, row), 0);  // INSERT would store a NaN as NULL
      sqlite3_bind_int(insert, 1, id), sqlite3_bind_int(insert, 2, group), sqlite3_bind_double(insert, 3, real.as.real);
      ASSERT_EQ(sqlite3_step(insert), SQLITE_DONE);
      sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    for (const char* a : {"r", "r + 1", "-r", "r - r"})
      for (const char* rest : {"", "WHERE id < 3", "WHERE id = 1", "GROUP BY g ORDER BY g"}) {
        char sql[200];
        std::snprintf(sql, sizeof sql, "SELECT SUM(%s), AVG(%s), MIN(%s), MAX(%s), COUNT(%s), SUM(%s) + 1 FROM t %s", a,
                      a, a, a, a, a, rest);
        ASSERT_EQ(database.result(sql), sqlite_result(sqlite, sql)) << "round " << round << ": " << sql;
      }
    sqlite3_close(sqlite);
  }
}

TEST(SqlBesideSqlite, a_few_thousand_statements_mean_the_same) { contest(10000 / one_in(3), true); }
TEST(SqlBesideSqliteLong, a_hundred_thousand_statements_mean_the_same) { contest(100000 / one_in(10), true); }

}  // namespace
}  // namespace lunar_test
