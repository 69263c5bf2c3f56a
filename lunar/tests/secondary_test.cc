// Secondary indexes select the same rows as a model after any changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "emubd.h"
#include "values.h"

namespace lunar_test {
namespace {

constexpr std::size_t smallest = LUNAR_BUFFER_BYTES_MIN(512);

// A value that owns its bytes and is ordered as in the indexes.
struct Value {
  std::uint8_t type = LUNAR_NULL;
  std::int64_t integer = 0;
  double real = 0;
  std::string bytes;

  lunar_value given() const {
    lunar_value value{};
    value.type = type;
    if (type == LUNAR_REAL)
      value.as.real = real;
    else if (type == LUNAR_TEXT || type == LUNAR_BLOB)
      value.as.data = bytes.data(), value.bytes = static_cast<std::uint32_t>(bytes.size());
    else
      value.as.integer = integer;
    return value;
  }
  static Value of(const lunar_value& value) {
    Value made;
    made.type = value.type;
    if (value.type == LUNAR_REAL)
      made.real = value.as.real;
    else if (value.type == LUNAR_TEXT || value.type == LUNAR_BLOB)
      made.bytes = bytes_of(value);
    else if (value.type != LUNAR_NULL)
      made.integer = value.as.integer;
    return made;
  }
  bool operator<(const Value& other) const {
    if (type == LUNAR_NULL || other.type == LUNAR_NULL) return type == LUNAR_NULL && other.type != LUNAR_NULL;
    return std::tie(integer, real, bytes) < std::tie(other.integer, other.real, other.bytes);
  }
  bool operator==(const Value& other) const { return !(*this < other) && !(other < *this); }
};
using Row = std::vector<Value>;
using Rows = std::map<Value, Row>;  // by primary key

constexpr std::uint8_t types[] = {LUNAR_INT64, LUNAR_INT8, LUNAR_INT16,   LUNAR_INT32, LUNAR_INT64,
                                  LUNAR_REAL,  LUNAR_TEXT, LUNAR_BOOLEAN, LUNAR_BLOB,  LUNAR_TEXT};
constexpr std::uint8_t columns = 10;

class Database {
 public:
  Database(lunar_mode mode, std::size_t buffer_bytes, std::uint32_t sectors, std::uint32_t log_sectors)
      : buffer_(buffer_bytes / 4) {
    if (emubd_open(&device, 512, sectors) != 0) throw std::bad_alloc();
    emubd_config(&device, &config);
    config.buffer = buffer_.data(), config.buffer_bytes = buffer_bytes, config.mode = mode;
    config.log_bytes = log_sectors * 512, config.tables_max = 8;
    config.atomic_write_bytes = 512;
    EXPECT_EQ(lunar_format(&config), 0);
    EXPECT_EQ(lunar_mount(&db, &config), 0);
  }
  ~Database() { emubd_close(&device); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void create(std::uint8_t key, lunar_index index) {
    lunar_schema schema{};
    schema.column_count = columns, schema.key = key, schema.index = index;
    for (std::uint8_t i = 0; i < columns; ++i) {
      schema.columns[i].name[0] = static_cast<char>('a' + i), schema.columns[i].type = types[i];
    }
    ASSERT_EQ(lunar_table_create(&db, "t", &schema), 0);
    ASSERT_EQ(lunar_table_open(&db, "t", &table), 0);
  }

  void expect_sound() {
    lunar_findings found{};
    ASSERT_EQ(lunar_check(&db, &found), 0) << found.text << ", " << found.table << ", sector " << found.sector;
  }

  emubd device{};
  lunar_config config{};
  lunar db{};
  lunar_table table{};

 private:
  std::vector<std::uint32_t> buffer_;
};

int insert(lunar_table& table, const Row& row) {
  lunar_value values[LUNAR_COLUMNS_MAX];
  for (std::size_t i = 0; i < row.size(); ++i) values[i] = row[i].given();
  return lunar_insert(&table, values);
}

// Reads the cursor's remaining rows.
std::vector<Row> rest(lunar_cursor& cursor) {
  std::vector<Row> rows;
  std::vector<char> row(8000);
  lunar_value values[LUNAR_COLUMNS_MAX];
  int error = 0;
  while ((error = lunar_cursor_next(&cursor, row.data(), row.size(), values)) == 0) {
    Row& read = rows.emplace_back();
    for (std::uint8_t i = 0; i < cursor.table->column_count; ++i) read.push_back(Value::of(values[i]));
  }
  EXPECT_EQ(error, LUNAR_E_NOT_FOUND);
  return rows;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  // Draws one of few values, which include the type's limits.
  Value value(std::uint8_t type, bool may_be_null) {
    Value made;
    if (may_be_null && below(6) == 0) return made;
    made.type = type;
    if (type == LUNAR_TEXT || type == LUNAR_BLOB) {
      made.bytes.assign(below(3) == 0 ? 0 : below(60), static_cast<char>(below(3)));
      if (below(2) == 0) made.bytes += std::string(below(3), static_cast<char>(below(256)));
      if (below(9) == 0) made.bytes += std::string(below(700), 'x');
      return made;
    }
    if (type == LUNAR_REAL) {
      const double reals[] = {0.0,
                              -0.0,
                              1.5,
                              -1.5,
                              1e300,
                              -1e300,
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              5e-324,
                              static_cast<double>(below(50)) - 25};
      made.real = reals[below(10)];
      return made;
    }
    made.type = type == LUNAR_BOOLEAN ? LUNAR_BOOLEAN : LUNAR_INT64;
    const int bits = type == LUNAR_INT8 ? 8 : type == LUNAR_INT16 ? 16 : type == LUNAR_INT32 ? 32 : 64;
    const auto highest = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
    const std::int64_t integers[] = {highest, -highest - 1, 0, -1, static_cast<std::int64_t>(below(60)) - 30};
    made.integer = type == LUNAR_BOOLEAN ? below(2) : integers[below(5)];
    return made;
  }

  Row row(std::uint8_t key, const Value& primary) {
    Row made;
    for (std::uint8_t i = 0; i < columns; ++i) made.push_back(i == key ? primary : value(types[i], true));
    return made;
  }

 private:
  std::mt19937_64 random_;
};

struct Index {
  std::string name;
  std::uint8_t column = 0;
  lunar_index kind = LUNAR_INDEX_HASH;
};

struct Case {
  const char* name;
  lunar_mode mode;
  std::size_t buffer_bytes;
  std::uint8_t key;  // the key's column
  lunar_index index;
};

class SecondaryIndexes : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    database = std::make_unique<Database>(GetParam().mode, GetParam().buffer_bytes, 8192, 512);
    database->create(GetParam().key, GetParam().index);
  }

  void add_index() {
    Index made;
    made.name = std::to_string(random.below(100)), made.column = static_cast<std::uint8_t>(random.below(columns));
    made.kind = random.below(2) == 0 ? LUNAR_INDEX_HASH : LUNAR_INDEX_TREE;
    const bool there =
        std::any_of(indexes.begin(), indexes.end(), [&](const auto& index) { return index.name == made.name; });
    const int error = lunar_index_create(&database->db, "t", made.name.c_str(), made.column, made.kind);
    if (there || indexes.size() == LUNAR_INDEXES_MAX)
      EXPECT_EQ(error, there ? LUNAR_E_EXISTS : LUNAR_E_TABLES);
    else
      ASSERT_EQ(error, 0);
    if (error == 0) indexes.push_back(made);
  }

  void drop_index() {
    if (indexes.empty()) return;
    const std::size_t i = random.below(static_cast<std::uint32_t>(indexes.size()));
    ASSERT_EQ(lunar_index_drop(&database->db, indexes[i].name.c_str()), 0);
    indexes.erase(indexes.begin() + static_cast<std::ptrdiff_t>(i));
  }

  Value some_key() {
    Value key;
    key.type = types[GetParam().key] == LUNAR_TEXT ? LUNAR_TEXT : LUNAR_INT64;
    key.integer = key.type == LUNAR_TEXT ? 0 : random.below(300);
    if (key.type == LUNAR_TEXT) key.bytes = std::to_string(random.below(300)).append(" is the key");
    return key;
  }

  void change() {
    const Value key = some_key();
    const lunar_value k = key.given();
    const auto it = rows.find(key);
    if (it == rows.end()) {
      const Row row = random.row(GetParam().key, key);
      ASSERT_EQ(insert(database->table, row), 0);
      rows[key] = row;
    } else if (random.below(3) == 0) {
      ASSERT_EQ(lunar_remove(&database->table, &k), 0);
      rows.erase(it);
    } else {
      const auto column = static_cast<std::uint8_t>(random.below(columns));
      if (column == GetParam().key) return;
      const Value value = random.value(types[column], true);
      const lunar_value v = value.given();
      ASSERT_EQ(lunar_update(&database->table, &k, column, &v), 0);
      it->second[column] = value;
    }
  }

  // Half of the transactions are rolled back; their changes must not stay in an index.
  void transaction() {
    if (GetParam().mode == LUNAR_MODE_NONE) return;
    const Rows before = rows;
    ASSERT_EQ(lunar_begin(&database->db), 0);
    for (int i = 0; i < 5; ++i) change();
    if (random.below(2) == 0) {
      ASSERT_EQ(lunar_commit(&database->db), 0);
    } else {
      ASSERT_EQ(lunar_rollback(&database->db), 0);
      rows = before;
    }
  }

  void expect_found(const Index& index, const Value* from, const Value* to, bool descending) {
    lunar_cursor cursor;
    const lunar_value low = from != nullptr ? from->given() : lunar_value{},
                      high = to != nullptr ? to->given() : lunar_value{};
    const lunar_value* high_at = to == nullptr ? nullptr : to == from ? &low : &high;
    ASSERT_EQ(lunar_index_cursor(&cursor, &database->table, index.name.c_str(), from != nullptr ? &low : nullptr,
                                 high_at, descending),
              0);
    std::set<std::pair<Value, Value>> expected, found;
    for (const auto& [key, row] : rows) {
      const Value& value = row[index.column];
      if ((from == nullptr || !(value < *from)) && (to == nullptr || !(*to < value))) expected.insert({value, key});
    }
    const auto read = rest(cursor);
    for (std::size_t i = 0; i < read.size(); ++i) {
      const Value& key = read[i][GetParam().key];
      ASSERT_TRUE(rows.contains(key));
      EXPECT_EQ(read[i], rows.at(key));
      found.insert({read[i][index.column], key});
      if (i == 0 || index.kind != LUNAR_INDEX_TREE) continue;
      Value before = read[i - 1][index.column], after = read[i][index.column];
      if (descending) std::swap(before, after);
      before.bytes.resize(std::min(before.bytes.size(), std::size_t{23}));  // an index orders by at most 23 bytes
      after.bytes.resize(std::min(after.bytes.size(), std::size_t{23}));
      EXPECT_FALSE(after < before);
    }
    EXPECT_EQ(read.size(), found.size()) << "each row once";
    EXPECT_EQ(found, expected);
  }

  void verify() {
    std::uint8_t at = 0;
    lunar_index_info info;
    for (const Index& index : indexes) {
      ASSERT_EQ(lunar_index_list(&database->table, &at, &info), 0);
      EXPECT_EQ(info.name, index.name);
      EXPECT_EQ(info.column, index.column);
      EXPECT_EQ(info.kind, index.kind);
      for (int i = 0; i < 6; ++i) {
        const Value from = random.value(types[index.column], true), to = random.value(types[index.column], true);
        expect_found(index, &from, &from, random.below(2) == 0);
        if (index.kind == LUNAR_INDEX_TREE) expect_found(index, &from, &to, random.below(2) == 0);
        if (index.kind == LUNAR_INDEX_TREE && i < 2) expect_found(index, &from, nullptr, i == 0);
        if (index.kind == LUNAR_INDEX_TREE && i < 2) expect_found(index, nullptr, &to, i == 0);
      }
      if (index.kind == LUNAR_INDEX_TREE) expect_found(index, nullptr, nullptr, random.below(2) == 0);
    }
    EXPECT_EQ(lunar_index_list(&database->table, &at, &info), LUNAR_E_NOT_FOUND);
    database->expect_sound();
  }

  std::unique_ptr<Database> database;
  Random random{0};
  Rows rows;
  std::vector<Index> indexes;
};

TEST_P(SecondaryIndexes, find_what_a_model_has) {
  const auto seed = test_seed();
  random = Random(seed);
  for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) {
    change();
    if (i % 40 == 7) transaction();
    if (i % 90 == 0) add_index();
    if (i % 400 == 300) drop_index();
    if (i % 250 == 249) verify();
    if (i % 700 == 699) {
      ASSERT_EQ(lunar_unmount(&database->db), 0);
      ASSERT_EQ(lunar_mount(&database->db, &database->config), 0);
      ASSERT_EQ(lunar_table_open(&database->db, "t", &database->table), 0);
    }
  }
  ASSERT_EQ(lunar_table_drop(&database->db, "t"), 0);
  lunar_statistics stat{};
  ASSERT_EQ(lunar_stat(&database->db, &stat), 0);
  EXPECT_EQ(stat.tables, 0U) << "a table takes its indexes with it";
  database->expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Tables, SecondaryIndexes,
                         testing::Values(Case{"full_smallest_buffer", LUNAR_MODE_FULL, smallest, 0, LUNAR_INDEX_HASH},
                                         Case{"data_text_keys", LUNAR_MODE_DATA, 16384, 9, LUNAR_INDEX_HASH},
                                         Case{"data_text_keys_in_a_tree", LUNAR_MODE_DATA, smallest, 9,
                                              LUNAR_INDEX_TREE},
                                         Case{"metadata_tree", LUNAR_MODE_METADATA, 65536, 0, LUNAR_INDEX_TREE},
                                         Case{"disorder", LUNAR_MODE_DISORDER, 16384, 0, LUNAR_INDEX_HASH},
                                         Case{"none", LUNAR_MODE_NONE, smallest, 0, LUNAR_INDEX_HASH}),
                         [](const auto& of) { return of.param.name; });

// --- a table of two numbers ---

class Pairs : public testing::Test {
 protected:
  explicit Pairs(std::size_t buffer_bytes = 65536, std::uint32_t sectors = 32768, std::uint32_t log_sectors = 1024)
      : database(LUNAR_MODE_DATA, buffer_bytes, sectors, log_sectors) {
    lunar_schema schema{};
    schema.column_count = 3;
    for (std::uint8_t i = 0; i < 3; ++i) schema.columns[i].name[0] = static_cast<char>('a' + i);
    schema.columns[0].type = schema.columns[1].type = LUNAR_INT64, schema.columns[2].type = LUNAR_TEXT;
    EXPECT_EQ(lunar_table_create(&database.db, "t", &schema), 0);
    EXPECT_EQ(lunar_table_open(&database.db, "t", &database.table), 0);
  }

  int put(std::int64_t key, std::int64_t value, const std::string& words = "") {
    const lunar_value values[] = {integer(key), integer(value), text(words)};
    return lunar_insert(&database.table, values);
  }
  int index(const char* name, std::uint8_t column, lunar_index kind) {
    return lunar_index_create(&database.db, "t", name, column, kind);
  }
  std::size_t count(const char* name, std::int64_t value) {
    lunar_cursor cursor;
    const lunar_value v = integer(value);
    EXPECT_EQ(lunar_index_cursor(&cursor, &database.table, name, &v, &v, 0), 0);
    return rest(cursor).size();
  }

  Database database;
};

TEST_F(Pairs, of_which_thousands_have_one_value_are_all_found) {
  ASSERT_EQ(index("hash", 1, LUNAR_INDEX_HASH), 0);
  ASSERT_EQ(index("tree", 1, LUNAR_INDEX_TREE), 0);
  const std::int64_t rows = 10000 / static_cast<std::int64_t>(one_in(5));
  for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(put(key, key % 3), 0) << key;
  database.expect_sound();
  EXPECT_EQ(count("tree", 1), static_cast<std::size_t>((rows + 1) / 3));
  for (std::int64_t key = 0; key < rows; ++key) {
    const lunar_value k = integer(key);
    if (key % 3 == 1 && key % 300 != 1) {
      ASSERT_EQ(lunar_remove(&database.table, &k), 0);
    }
  }
  EXPECT_EQ(count("hash", 1), static_cast<std::size_t>((rows + 298) / 300));
  EXPECT_EQ(count("hash", 3), 0U);
  database.expect_sound();
}

// Rows are inserted and deleted; the pages of deleted rows are freed.
TEST_F(Pairs, that_come_and_go_with_one_value_need_no_more_pages) {
  ASSERT_EQ(index("hash", 1, LUNAR_INDEX_HASH), 0);
  lunar_findings found{};
  std::uint32_t blocks = 0;
  for (std::int64_t key = 0; key < 4000; ++key) {
    ASSERT_EQ(put(key, 7), 0);
    const lunar_value old = integer(key - 300);
    if (key >= 300) {
      ASSERT_EQ(lunar_remove(&database.table, &old), 0);
    }
    if (key != 1000 && key != 3999) continue;
    ASSERT_EQ(lunar_check(&database.db, &found), 0) << found.text;
    if (key == 1000) blocks = found.index_blocks;
  }
  EXPECT_LE(found.index_blocks, blocks + 1);
  for (std::int64_t key = 3700; key < 4000; ++key) {
    const lunar_value old = integer(key);
    ASSERT_EQ(lunar_remove(&database.table, &old), 0);
  }
  ASSERT_EQ(lunar_check(&database.db, &found), 0) << found.text;
  EXPECT_LT(found.index_blocks + 300 / 31 - 2, blocks) << "pages without entries are given back";
}

TEST_F(Pairs, that_find_no_room_in_mode_none_leave_every_index_as_it_was) {
  for (const auto kind : {LUNAR_INDEX_HASH, LUNAR_INDEX_TREE}) {
    Database other(LUNAR_MODE_NONE, 16384, 1024, 160);
    other.create(0, LUNAR_INDEX_HASH);
    for (const int column : {1, 4, 5})
      ASSERT_EQ(
          lunar_index_create(&other.db, "t", std::to_string(column).c_str(), static_cast<std::uint8_t>(column), kind),
          0);
    Random random(test_seed());
    int full = 0;
    for (std::int64_t key = 0; full < 300; ++key) {
      Row row = random.row(0, Value::of(integer(key * 7919)));
      row[4] = Value::of(integer(key * 4711 % 10007));
      const int error = insert(other.table, row);
      ASSERT_TRUE(error == 0 || error == LUNAR_E_FULL) << error;
      full += error != 0;
    }
    other.expect_sound();
  }
}

TEST_F(Pairs, are_read_once_by_a_cursor_while_they_move) {
  for (const bool text_keys : {false, true}) {
    Database other(LUNAR_MODE_DATA, 16384, 16384, 512);
    lunar_schema schema{};
    schema.column_count = 3;
    for (std::uint8_t i = 0; i < 3; ++i) schema.columns[i].name[0] = static_cast<char>('a' + i);
    schema.columns[0].type = text_keys ? LUNAR_TEXT : LUNAR_INT64;
    schema.columns[1].type = LUNAR_INT32, schema.columns[2].type = LUNAR_TEXT;
    ASSERT_EQ(lunar_table_create(&other.db, "t", &schema), 0);
    ASSERT_EQ(lunar_table_open(&other.db, "t", &other.table), 0);
    ASSERT_EQ(lunar_index_create(&other.db, "t", "i", 1, LUNAR_INDEX_TREE), 0);
    for (int i = 0; i < 300; ++i) {
      const std::string name = std::to_string(i), little = "x";
      const lunar_value values[] = {text_keys ? text(name) : integer(i), integer(i % 2), text(little)};
      ASSERT_EQ(lunar_insert(&other.table, values), 0);
    }
    for (const bool descending : {false, true}) {
      lunar_cursor cursor;
      ASSERT_EQ(lunar_index_cursor(&cursor, &other.table, "i", nullptr, nullptr, descending), 0);
      std::set<Value> read;
      char row[2000];
      lunar_value values[3];
      while (lunar_cursor_next(&cursor, row, sizeof row, values) == 0) {
        ASSERT_TRUE(read.insert(Value::of(values[0])).second) << "twice";
        const std::string more = bytes_of(values[2]) + std::string(30, 'y');
        const lunar_value v = text(more);
        ASSERT_EQ(lunar_update(&other.table, &values[0], 2, &v), 0);
      }
      EXPECT_EQ(read.size(), 300U);
    }
    other.expect_sound();
  }
}

TEST_F(Pairs, that_a_cursor_by_hashing_moves_are_not_met_for_ever) {
  ASSERT_EQ(index("hash", 1, LUNAR_INDEX_HASH), 0);
  for (std::int64_t key = 0; key < 50; ++key) ASSERT_EQ(put(key, 1), 0);
  lunar_cursor cursor;
  const lunar_value one = integer(1);
  ASSERT_EQ(lunar_index_cursor(&cursor, &database.table, "hash", &one, &one, 0), 0);
  char row[2000];
  lunar_value values[3];
  int read = 0;
  while (lunar_cursor_next(&cursor, row, sizeof row, values) == 0) {
    const std::string more = bytes_of(values[2]) + std::string(20, 'y');
    const lunar_value v = text(more);
    ASSERT_EQ(lunar_update(&database.table, &values[0], 2, &v), 0);
    ASSERT_LE(++read, 60);
  }
  EXPECT_GE(read, 50);
}

TEST_F(Pairs, in_a_dropped_index_are_not_read_and_its_name_is_free) {
  ASSERT_EQ(put(1, 1), 0);
  ASSERT_EQ(index("i", 1, LUNAR_INDEX_TREE), 0);
  lunar_cursor cursor;
  ASSERT_EQ(lunar_index_cursor(&cursor, &database.table, "i", nullptr, nullptr, 0), 0);
  ASSERT_EQ(lunar_index_drop(&database.db, "i"), 0);
  char row[100];
  lunar_value values[3];
  EXPECT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), LUNAR_E_NO_TABLE);
  ASSERT_EQ(index("i", 1, LUNAR_INDEX_TREE), 0);
  EXPECT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), LUNAR_E_NO_TABLE) << "it is another index";
}

TEST_F(Pairs, have_indexes_that_are_no_tables) {
  ASSERT_EQ(index("i", 1, LUNAR_INDEX_HASH), 0);
  std::uint16_t number = 0;
  char name[LUNAR_NAME_MAX + 1];
  ASSERT_EQ(lunar_table_list(&database.db, &number, name), 0);
  EXPECT_STREQ(name, "t");
  EXPECT_EQ(lunar_table_list(&database.db, &number, name), LUNAR_E_NO_TABLE);
  lunar_table opened;
  EXPECT_EQ(lunar_table_open(&database.db, "i", &opened), LUNAR_E_NO_TABLE);
  EXPECT_EQ(lunar_table_drop(&database.db, "i"), LUNAR_E_NO_TABLE);
  EXPECT_EQ(lunar_index_drop(&database.db, "t"), LUNAR_E_NO_TABLE);
  EXPECT_EQ(index("t", 1, LUNAR_INDEX_HASH), LUNAR_E_EXISTS);
  EXPECT_EQ(lunar_index_create(&database.db, "i", "j", 0, LUNAR_INDEX_HASH), LUNAR_E_NO_TABLE);
}

// In the smallest buffer every page leaves its frame before the next row, so building an index needs no log.
class ManyPairs : public Pairs {
 protected:
  ManyPairs() : Pairs(smallest, 16384, 128) {}
};

TEST_F(ManyPairs, get_an_index_in_the_smallest_buffer_and_a_short_log) {
  const std::int64_t rows = 3000 / static_cast<std::int64_t>(one_in(3));
  for (std::int64_t key = 0; key < rows; ++key) ASSERT_EQ(put(key, key * 7919 % 3001), 0);
  ASSERT_EQ(index("tree", 1, LUNAR_INDEX_TREE), 0);
  ASSERT_EQ(index("hash", 1, LUNAR_INDEX_HASH), 0);
  EXPECT_EQ(count("tree", 7919 % 3001), 1U);
  EXPECT_EQ(count("hash", 7919 % 3001), 1U);
  database.expect_sound();
  ASSERT_EQ(lunar_index_drop(&database.db, "tree"), 0);
  ASSERT_EQ(lunar_index_drop(&database.db, "hash"), 0);
  database.expect_sound();
}

TEST_F(ManyPairs, are_as_before_where_an_index_finds_no_room) {
  for (const lunar_mode mode : {LUNAR_MODE_FULL, LUNAR_MODE_NONE}) {
    ASSERT_EQ(lunar_unmount(&database.db), 0);
    database.config.mode = mode;
    ASSERT_EQ(lunar_mount(&database.db, &database.config), 0);
    ASSERT_EQ(lunar_table_open(&database.db, "t", &database.table), 0);
    std::int64_t key = 100000 * mode;
    const std::string words(400, 'w');
    int error = 0;
    while ((error = put(key, key, words)) == 0) ++key;
    ASSERT_EQ(error, LUNAR_E_FULL);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(index("i", 2, LUNAR_INDEX_TREE), LUNAR_E_FULL);
    database.expect_sound();
  }
}

// Cuts the power before every change of an index creation.
TEST_F(ManyPairs, have_the_index_or_not_after_a_cut_while_it_is_made) {
  for (std::int64_t key = 0; key < 150; ++key) ASSERT_EQ(put(key, key * 7919 % 1009), 0);
  ASSERT_EQ(lunar_sync(&database.db), 0);
  Database after(LUNAR_MODE_DATA, smallest, 16384, 128);
  emubd copy{};
  ASSERT_EQ(emubd_open(&copy, 512, 16384), 0);
  ASSERT_EQ(emubd_copy(&copy, &database.device), 0);
  std::size_t made = 0, cuts = 0;
  for (std::uint64_t at = 1; made == 0 || cuts % 2 != 0; at += one_in(3), ++cuts) {
    ASSERT_EQ(emubd_copy(&after.device, &copy), 0);
    emubd_reset(&after.device);
    ASSERT_EQ(lunar_mount(&after.db, &after.config), 0);
    ASSERT_EQ(lunar_table_open(&after.db, "t", &after.table), 0);
    emubd_reset(&after.device);
    after.device.cut_at = at;
    const int error = lunar_index_create(&after.db, "t", "i", 1, at % 2 != 0 ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH);
    std::uint64_t seed = at;
    emubd_cut(&after.device, &seed, at % 3 == 0 ? 256 : 128, 0);
    emubd_reset(&after.device);
    ASSERT_EQ(lunar_mount(&after.db, &after.config), 0) << at;
    ASSERT_NO_FATAL_FAILURE(after.expect_sound()) << at;
    ASSERT_EQ(lunar_table_open(&after.db, "t", &after.table), 0);
    std::uint8_t number = 0;
    lunar_index_info info;
    const int there = lunar_index_list(&after.table, &number, &info);
    if (error == 0) {
      ASSERT_EQ(there, 0) << "it is durable";
    }
    made += error == 0;
    if (there != 0) {
      ASSERT_EQ(lunar_index_create(&after.db, "t", "i", 1, LUNAR_INDEX_TREE), 0);
    }
    lunar_cursor cursor;
    const lunar_value value = integer(7919 % 1009);
    ASSERT_EQ(lunar_index_cursor(&cursor, &after.table, "i", &value, &value, 0), 0);
    EXPECT_EQ(rest(cursor).size(), 1U) << at;
  }
  std::printf("%zu cuts\n", cuts);
  emubd_close(&copy);
}

// A recovery repeats earlier spills behind them in the log. It has room, however much of the log the indexes take.
TEST(SecondaryIndex, leaves_room_in_a_short_log_for_a_recovery_at_any_time) {
  Random random(test_seed());
  for (const std::uint32_t log_sectors : {96, 128, 160}) {
    Database database(LUNAR_MODE_DATA, smallest, 4096, log_sectors);
    database.create(0, LUNAR_INDEX_HASH);
    ASSERT_EQ(lunar_index_create(&database.db, "t", "i", 1, LUNAR_INDEX_TREE), 0);
    for (std::int64_t key = 0; key < 900; ++key) {
      const auto mixed = static_cast<std::int64_t>(static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15U);
      ASSERT_EQ(insert(database.table, random.row(0, Value::of(integer(mixed)))), 0);
      if (random.below(9) != 0) continue;
      ASSERT_EQ(lunar_sync(&database.db), 0);
      ASSERT_EQ(lunar_mount(&database.db, &database.config), 0) << key;
      ASSERT_EQ(lunar_table_open(&database.db, "t", &database.table), 0);
    }
    database.expect_sound();
  }
}

TEST(SecondaryIndex, orders_the_values_that_are_no_numbers) {
  Database database(LUNAR_MODE_FULL, 16384, 4096, 256);
  lunar_schema schema{};
  schema.column_count = 2;
  std::strcpy(schema.columns[0].name, "key"), schema.columns[0].type = LUNAR_INT8;
  std::strcpy(schema.columns[1].name, "real"), schema.columns[1].type = LUNAR_REAL;
  ASSERT_EQ(lunar_table_create(&database.db, "t", &schema), 0);
  ASSERT_EQ(lunar_table_open(&database.db, "t", &database.table), 0);
  ASSERT_EQ(lunar_index_create(&database.db, "t", "i", 1, LUNAR_INDEX_TREE), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const double reals[] = {std::copysign(nan, -1.0), -infinite, -1, 0, 1, infinite, nan};
  for (const std::int64_t i : {3, 0, 6, 1, 5, 2, 4}) {
    lunar_value values[] = {integer(i), {}};
    values[1].type = LUNAR_REAL, values[1].as.real = reals[i];
    ASSERT_EQ(lunar_insert(&database.table, values), 0);
  }
  lunar_cursor cursor;
  ASSERT_EQ(lunar_index_cursor(&cursor, &database.table, "i", nullptr, nullptr, 0), 0);
  const auto read = rest(cursor);
  ASSERT_EQ(read.size(), 7U);
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_EQ(read[static_cast<std::size_t>(i)][0].integer, i);
}

}  // namespace
}  // namespace lunar_test
