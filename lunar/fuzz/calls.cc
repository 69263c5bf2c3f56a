#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emubd.h"
#include "require.h"
#include "targets.h"
#include "values.h"

namespace lunar_fuzz {
namespace {

using lunar_test::bytes_of;
using lunar_test::integer;

constexpr int tables = 5, indexes = 3 /* of each */, keys = 48, steps_max = 500, cached_row = 100;

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool ended() const { return left_ == 0; }
  std::uint32_t below(std::uint32_t limit) { return next() % limit; }
  std::uint32_t next() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

struct Row {
  std::uint32_t bytes = 0;
  std::uint8_t seed = 0;  // of the content
  std::int32_t number = 0;
  std::uint64_t age = 0;  // higher is newer; not compared
  std::string content() const {
    std::string made(bytes, static_cast<char>(seed));
    for (std::size_t i = 1; i < made.size(); i += 2) made[i] = static_cast<char>(i * seed);
    return made;
  }
  bool operator==(const Row& other) const {
    return bytes == other.bytes && seed == other.seed && number == other.number;
  }
};

struct Index {
  std::uint8_t column = 0, kind = 0;
  std::uint64_t made = 0;  // distinguishes it from others with its name; not compared
  bool operator==(const Index& other) const { return column == other.column && kind == other.kind; }
};

// The keys' order is that of the table's. An integer key is one byte here.
struct Table {
  lunar_index index = LUNAR_INDEX_HASH;
  bool text_keys = false;
  std::uint32_t ring_rows = 0;
  std::map<std::string, Row> rows;
  std::map<std::string, Index> indexes;
  std::uint64_t made = 0;  // distinguishes it from others with its name; not compared
  bool operator==(const Table& other) const {
    return index == other.index && text_keys == other.text_keys && ring_rows == other.ring_rows && rows == other.rows &&
           indexes == other.indexes;
  }
};
using State = std::map<int, Table>;

std::string key_of(const Table& table, std::uint32_t number) {
  const std::string last(1, static_cast<char>('0' + number % keys));
  return table.text_keys ? std::string(number % 20, 'k') + last : last;
}

lunar_value value_of(const Table& table, const std::string& key) {
  return table.text_keys ? lunar_test::text(key) : integer(key[0] - 'A');
}

std::string key_from(const Table& table, const lunar_value& value) {
  return table.text_keys ? bytes_of(value) : std::string(1, static_cast<char>(value.as.integer + 'A'));
}

lunar_schema schema_of(const Table& table) {
  lunar_schema schema{};
  schema.column_count = 3, schema.index = table.index;
  if (table.ring_rows != 0) schema.ring = LUNAR_RING_ROWS, schema.ring_limit = table.ring_rows;
  std::strcpy(schema.columns[0].name, "number"), schema.columns[0].type = LUNAR_INT32;
  std::strcpy(schema.columns[1].name, "key"), schema.columns[1].type = table.text_keys ? LUNAR_TEXT : LUNAR_INT8;
  std::strcpy(schema.columns[2].name, "content"), schema.columns[2].type = LUNAR_BLOB;
  schema.key = 1;
  return schema;
}

std::string name_of(int table) { return {'t', static_cast<char>('0' + table)}; }

// What an index has of a row, in an order that is that of the values; of a key, as much as orders.
std::string indexed(const std::string& key, const Row& row, std::uint8_t column) {
  if (column == 0) return std::to_string(200000 + row.number);
  return column == 1 ? key : row.content();
}

bool no_room(int error) { return error == LUNAR_E_FULL || error == LUNAR_E_TXN_FULL; }

class Program {
 public:
  Program(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {
    const std::uint32_t kind = bytes_.next(), more = bytes_.next();
    require(emubd_open(&device_, 512, more & 1 ? 1024 : 256) == 0, "there is memory");
    emubd_config(&device_, &config_);
    const std::uint32_t buffers[] = {LUNAR_BUFFER_BYTES_MIN(512), 4096, 16384, 65536};
    buffer_.resize(buffers[more >> 1 & 3] / 4);
    config_.buffer = buffer_.data(), config_.buffer_bytes = buffer_.size() * 4;
    config_.mode = static_cast<lunar_mode>(1 + kind % 5);
    cached_ = kind >= 128;
    config_.atomic_write_bytes = more & 8 ? 512 : 0;
    config_.class_growth = more & 48 ? 2 : 1, config_.tables_max = more & 1 ? tables * (1 + indexes) : tables;
    device_.failing_write_256 = static_cast<std::uint8_t>(more & 64 ? 255 : more & 128 ? 128 : 0);
    restart();
  }
  ~Program() { emubd_close(&device_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void run() {
    for (int i = 0; i < steps_max && !bytes_.ended(); ++i) {
      step();
      if (gave_up()) restart();
    }
    no_failures();
    if (transaction_) end_transaction(false);
    verify();
    unmount();
    verify();
  }

 private:
  // A ring table was repaired because the device failed for long: rows and pages of an index may be given up.
  bool gave_up() const { return db_.repairs != 0 || db_.marked != 0; }

  void step() {
    const std::uint32_t what = bytes_.next();
    if (what < 90) return insert();
    if (what < 110) return update_content();
    if (what < 130) return update_number();
    if (what < 155) return remove();
    if (what < 165) return what < 163 ? create() : drop();
    if (what < 185) return cursor_step();
    if (what < 190) return cursor_open();
    if (what < 200) return transaction_ ? end_transaction(what % 3 != 0) : begin();
    if (what < 210) return whole_volume(what < 205 ? lunar_sync(&db_) : lunar_checkpoint(&db_));
    if (what < 214) return what < 212 ? check() : compact();
    if (what < 220) return unmount();
    if (what < 226) return cut();
    if (what < 240) return fail_soon();
    if (what < 245) return wrong_calls();
    if (what < 249) return what < 248 ? create_index() : drop_index();
    return get();
  }

  // --- the device ---

  void fail_soon() {
    emubd_reset(&device_);
    device_.fail_at = 1 + bytes_.below(24);
    const std::uint32_t calls = bytes_.below(8);
    device_.fail_until = device_.fail_at + (calls == 7 ? 1000 : calls);
  }
  void no_failures() { emubd_reset(&device_); }
  bool may_fail() const { return device_.fail_at != 0 && device_.calls >= device_.fail_at; }

  void restart() {
    no_failures();
    device_.mounted = nullptr;  // as another program, in which nothing is mounted
    require(lunar_format(&config_) == 0, "a device that works can be formatted");
    require(lunar_mount(&db_, &config_) == 0, "a new volume can be mounted");
    now_.clear(), since_.assign(1, now_);
    transaction_ = false, cursor_table_ = -1;
    create();
  }

  // --- reading the contents ---

  std::optional<std::map<std::string, Row>> read_table(int number, const Table& like) {
    lunar_table table{};
    lunar_cursor cursor{};
    if (lunar_table_open(&db_, name_of(number).c_str(), &table) != 0) return std::nullopt;
    if (lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0) != 0) return std::nullopt;
    std::map<std::string, Row> rows;
    std::string last;
    lunar_value values[3], again[3];
    int error = 0;
    while ((error = lunar_cursor_next(&cursor, row_, sizeof row_, values)) == 0) {
      const std::string key = key_from(like, values[1]), content = bytes_of(values[2]);
      Row row{static_cast<std::uint32_t>(content.size()), static_cast<std::uint8_t>(content.empty() ? 0 : content[0]),
              static_cast<std::int32_t>(values[0].as.integer), rows.size()};
      if (content != row.content() || (like.index == LUNAR_INDEX_TREE && key <= last)) return std::nullopt;
      if (!rows.emplace(key, row).second) return std::nullopt;
      last = key;
      const lunar_value k = value_of(like, key);
      if (lunar_get(&table, &k, row_, sizeof row_, again) != 0 || bytes_of(again[2]) != content) return std::nullopt;
    }
    std::uint64_t count = 0;
    if (error != LUNAR_E_NOT_FOUND || lunar_count(&table, &count) != 0 || count != rows.size()) return std::nullopt;
    return rows;
  }

  // All rows by a tree, in the order of their values; by hashing those of the first row's value.
  bool read_index(lunar_table& table, const Table& like, const char* name, const Index& index) {
    if (like.rows.empty()) return true;
    const auto& [first, first_row] = *like.rows.begin();
    const std::string content = first_row.content(), wanted = indexed(first, first_row, index.column);
    const lunar_value value = index.column == 0   ? integer(first_row.number)
                              : index.column == 1 ? value_of(like, first)
                                                  : lunar_test::blob(content);
    const lunar_value* bound = index.kind == LUNAR_INDEX_HASH ? &value : nullptr;
    lunar_cursor cursor{};
    if (lunar_index_cursor(&cursor, &table, name, bound, bound, 0) != 0) return false;
    std::set<std::string> found, expected;
    for (const auto& [key, row] : like.rows)
      if (bound == nullptr || indexed(key, row, index.column) == wanted) expected.insert(key);
    std::string last;
    lunar_value values[3];
    int error = 0;
    while ((error = lunar_cursor_next(&cursor, row_, sizeof row_, values)) == 0) {
      const std::string key = key_from(like, values[1]);
      const auto row = like.rows.find(key);
      if (row == like.rows.end() || !found.insert(key).second) return false;
      const std::string here = indexed(key, row->second, index.column).substr(0, 20);
      if (bound == nullptr && here < last) return false;
      last = here;
    }
    return error == LUNAR_E_NOT_FOUND && found == expected;
  }

  std::optional<State> read() {
    State state;
    std::uint16_t number = 0;
    char name[LUNAR_NAME_MAX + 1];
    int error = 0;
    while ((error = lunar_table_list(&db_, &number, name)) == 0) {
      lunar_table table{};
      lunar_schema schema{};
      if (lunar_table_open(&db_, name, &table) != 0 || lunar_table_schema(&table, &schema) != 0) return std::nullopt;
      Table& found = state[std::atoi(name + 1)];
      found.index = static_cast<lunar_index>(schema.index), found.text_keys = schema.columns[1].type == LUNAR_TEXT;
      found.ring_rows = static_cast<std::uint32_t>(schema.ring_limit);
      lunar_index_info info{};
      std::uint8_t at = 0;
      int listed = 0;
      while ((listed = lunar_index_list(&table, &at, &info)) == 0)
        found.indexes[info.name] = {info.column, info.kind, 0};
      if (listed != LUNAR_E_NOT_FOUND) return std::nullopt;
      auto rows = read_table(std::atoi(name + 1), found);
      if (!rows) return std::nullopt;
      found.rows = std::move(*rows);
      for (const auto& [index, of] : found.indexes)
        if (!read_index(table, found, index.c_str(), of)) return std::nullopt;
    }
    if (error != LUNAR_E_NO_TABLE) return std::nullopt;
    return state;
  }

  // Calls without failures.
  template <class Calls>
  auto well(Calls calls_of) {
    const auto fail_at = device_.fail_at, calls = device_.calls;
    device_.fail_at = 0;
    auto result = calls_of();
    device_.fail_at = fail_at, device_.calls = calls;
    return result;
  }
  std::optional<State> read_well() {
    return well([&] { return read(); });
  }

  void verify() {
    const auto state = read_well();
    require(state.has_value(), "what is stored can be read");
    require(*state == now_, "what is stored is what the model has");
  }

  bool in_place() const { return config_.atomic_write_bytes != 0 && config_.mode <= LUNAR_MODE_METADATA; }

  // After a cut or a failure: one of the moments since the last sync. Where updates are written in place these may be
  // mixed; the model cannot go on from there.
  void mount_and_go_on() {
    if (gave_up()) return restart();
    int error = lunar_mount(&db_, &config_);
    if (error != 0 && may_fail()) no_failures(), error = lunar_mount(&db_, &config_);
    require(error == 0, "a volume can be mounted after a cut or a failure");
    transaction_ = false, cursor_table_ = -1;
    no_failures();
    if (gave_up()) return restart();
    lunar_findings found{};
    error = lunar_check(&db_, &found);
    if (error != 0) std::fprintf(stderr, "%s: ", found.text);
    require(error == 0, "lunar_check finds nothing after a cut or a failure");
    const auto state = read();
    const auto moment = state ? std::find(since_.begin(), since_.end(), *state) : since_.end();
    if (moment == since_.end() && in_place()) return restart();
    require(state.has_value(), "what is stored can be read after a cut or a failure");
    require(moment != since_.end(), "after a cut or a failure a moment since the last sync is there");
    const State found_moment = *moment;
    now_ = found_moment, since_.assign(1, now_);
  }

  // Mode none was cut off or failed: nothing is promised but that every call returns.
  void anything_goes(bool unclean) {
    no_failures();
    if (unclean) {
      lunar_config other = config_;
      other.mode = LUNAR_MODE_FULL;
      require(lunar_mount(&db_, &other) == LUNAR_E_UNCLEAN, "after mode none every other mode is refused");
    }
    lunar_findings found{};
    if (known(lunar_mount(&db_, &config_)) == 0) {
      known(lunar_check(&db_, &found));
      (void)read();
      known(lunar_unmount(&db_));
    }
    restart();
  }

  // --- results ---

  void durable() { since_.assign(1, now_); }

  // Checks an operation's result. after: the state if it has taken effect.
  void changed(int error, const State& after) {
    if (error == 0) {
      forget_of_cursor(after);
      now_ = after;
      if (!transaction_) since_.push_back(now_);
      if (!transaction_ && config_.mode == LUNAR_MODE_FULL) durable();
    } else if (no_room(error)) {
      lose_transaction_if_lost();
      if (bytes_.below(8) == 0) verify();
    } else {
      failed(error, after);
    }
  }

  // What any function says now, while the device works. The first one after a failure may find out about it only now.
  int state_of_handle() {
    return well([&] {
      lunar_statistics stat{};
      const int error = lunar_stat(&db_, &stat);
      return error == LUNAR_E_IO ? lunar_stat(&db_, &stat) : error;
    });
  }

  void lose_transaction_if_lost() {
    const int error = state_of_handle();
    require(error == 0 || (error == LUNAR_E_TXN && transaction_), "a handle is usable after an operation had no room");
    if (error != LUNAR_E_TXN) return;
    require(lunar_commit(&db_) == LUNAR_E_TXN, "a lost transaction cannot be committed");
    forget_transaction();
  }

  void forget_transaction() {
    transaction_ = false;
    forget_of_cursor(before_);
    pending_.clear();
    now_ = before_;
  }

  void failed(int error, const State& after) { failed(error, std::vector<State>{after}); }

  // afters: the states that the operation may have left.
  void failed(int error, const std::vector<State>& afters) {
    if (error != LUNAR_E_IO || !may_fail()) std::fprintf(stderr, "%s: ", lunar_error_text(error));
    require(error == LUNAR_E_IO && may_fail(), "an operation fails with the device only");
    if (gave_up()) return restart();
    if (!transaction_) since_.insert(since_.end(), afters.begin(), afters.end());
    const int state = state_of_handle();
    if (state == LUNAR_E_FAILED) {
      if (transaction_) forget_transaction();
      return config_.mode == LUNAR_MODE_NONE ? anything_goes(true) : mount_and_go_on();
    }
    if (state == LUNAR_E_TXN) {
      require(lunar_rollback(&db_) == 0, "a lost transaction can be ended");
      forget_transaction();
      return verify();
    }
    if (state != 0) std::fprintf(stderr, "%s: ", lunar_error_text(state));
    require(state == 0, "a handle goes on after a failure, or says that it cannot");
    const auto found = read_well();
    require(found.has_value(), "a handle that goes on can be read");
    if (*found == now_) return;
    const auto after = std::find(afters.begin(), afters.end(), *found);
    require(!transaction_ && after != afters.end(), "a failed operation has not happened or wholly");
    forget_of_cursor(*after), now_ = *after;
  }

  // A call that reads: its result, or 1 when the device failed.
  int read_result(int error) {
    if (error != LUNAR_E_IO) return error;
    failed(error, now_);
    return 1;
  }

  // --- operations ---

  lunar_table* open(int number) {
    const int error = read_result(lunar_table_open(&db_, name_of(number).c_str(), &handles_[number]));
    if (error == 1) return nullptr;
    require(error == (now_.contains(number) ? 0 : LUNAR_E_NO_TABLE), "a table can be opened when it is there");
    return error == 0 && cache(number) ? &handles_[number] : nullptr;
  }

  bool cache(int number) {
    if (!cached_) return true;
    const int error = read_result(
        lunar_cache_open(&handles_[number], &caches_[number], memory_[number], sizeof memory_[number], cached_row));
    require(error == 0 || error == 1 || error == LUNAR_E_EXISTS, "a table can have a query cache");
    return error != 1;
  }

  Row random_row() {
    const std::uint32_t size = bytes_.next();
    Row row{size < 160 ? size / 2 : (size - 150) * 14, static_cast<std::uint8_t>(bytes_.next()), 0, ++age_};
    row.number = row.bytes == 0 ? 0 : row.seed * 77;
    if (row.bytes == 0) row.seed = 0;
    return row;
  }

  static void erase_oldest(Table& table) {
    table.rows.erase(std::min_element(table.rows.begin(), table.rows.end(),
                                      [](const auto& a, const auto& b) { return a.second.age < b.second.age; }));
  }

  static void evict(Table& table) {
    while (table.ring_rows != 0 && table.rows.size() > table.ring_rows) erase_oldest(table);
  }

  static State without_oldest(State state, int number, std::size_t rows) {
    for (; rows != 0; --rows) erase_oldest(state[number]);
    return state;
  }

  // An insertion into a ring table on a full device removes the oldest rows, one operation for each. The states that it
  // may leave: with the new row, and without it.
  std::vector<State> with_room(int number, const State& after) {
    std::vector<State> states;
    for (std::size_t i = 0; i <= now_[number].rows.size(); ++i) states.push_back(without_oldest(now_, number, i));
    for (std::size_t i = 0; i < after.at(number).rows.size(); ++i) states.push_back(without_oldest(after, number, i));
    return states;
  }

  // The insertion needs at most a chunk for the row and two for its indexes.
  bool is_nearly_full() {
    lunar_statistics stat{};
    return well([&] { return lunar_stat(&db_, &stat); }) == 0 && stat.chunks_free <= 3;
  }

  // Removes from after the rows that an insertion into a ring table has removed to make room.
  void made_room(int number, State& after) {
    if (gave_up()) return;
    std::uint64_t rows = 0;
    require(well([&] { return lunar_count(&handles_[number], &rows); }) == 0, "a table's rows are counted");
    const std::size_t expected = after[number].rows.size();
    require(rows <= expected, "an insertion adds one row");
    if (rows == expected) return;
    const auto moments = with_room(number, after);
    since_.insert(since_.end(), moments.begin(), moments.end());
    after = without_oldest(after, number, expected - rows);
  }

  void insert() {
    const int number = static_cast<int>(bytes_.below(tables));
    lunar_table* table = open(number);
    if (!table) return;
    const std::string key = key_of(now_[number], bytes_.next());
    const Row row = random_row();
    const std::string content = row.content();
    State after = now_;
    const lunar_value values[] = {integer(row.number), value_of(now_[number], key), lunar_test::blob(content)};
    const bool there = !after[number].rows.emplace(key, row).second;
    evict(after[number]);
    const bool may_make_room = now_[number].ring_rows != 0 && !there && !transaction_ && is_nearly_full();
    const int error = lunar_insert(table, values);
    if (error == LUNAR_E_TOO_LARGE && row.bytes > 900) return;
    if (may_make_room && error == LUNAR_E_IO) return failed(error, with_room(number, after));
    if (may_make_room && error == 0) made_room(number, after);
    if (may_make_room && error == LUNAR_E_FULL) {
      State left = now_;
      made_room(number, left);
      changed(0, left);
    }
    if (!there) return changed(error, after);
    const int read = no_room(error) ? error : read_result(error);
    if (no_room(read)) return changed(read, now_);
    require(read == 1 || read == LUNAR_E_EXISTS, "a key is there once");
  }

  void update(std::uint8_t column, const Row& row, const std::string& content) {
    const int number = static_cast<int>(bytes_.below(tables));
    lunar_table* table = open(number);
    if (!table) return;
    const std::string key = key_of(now_[number], bytes_.next());
    const lunar_value k = value_of(now_[number], key);
    const lunar_value v = column == 0 ? integer(row.number) : lunar_test::blob(content);
    State after = now_;
    const auto it = after[number].rows.find(key);
    const bool there = it != after[number].rows.end();
    if (there && column == 0) it->second.number = row.number;
    if (there && column == 2) {
      if (it->second.bytes != row.bytes) it->second.age = ++age_, moved_ = key;
      it->second.bytes = row.bytes, it->second.seed = row.seed;
    }
    const int error = lunar_update(table, &k, column, &v);
    if (error == LUNAR_E_TOO_LARGE && row.bytes > 900) return;
    if (error == 0 && number == cursor_table_ && now_[number].index == LUNAR_INDEX_HASH && cursor_index_.empty())
      pending_.erase(moved_);
    if (there) changed_under_cursor(number, key, column);
    if (there || no_room(error)) return changed(error, there ? after : now_);
    const int read = read_result(error);
    require(read == 1 || read == LUNAR_E_NOT_FOUND, "an update finds its row");
  }
  void update_content() {
    const Row row = random_row();
    update(2, row, row.content());
  }
  void update_number() {
    Row row;
    row.number = static_cast<std::int32_t>(bytes_.next()) - 128;
    update(0, row, "");
  }

  void remove() {
    const int number = static_cast<int>(bytes_.below(tables));
    lunar_table* table = open(number);
    if (!table) return;
    const std::string key = key_of(now_[number], bytes_.next());
    const lunar_value k = value_of(now_[number], key);
    State after = now_;
    const bool there = after[number].rows.erase(key) != 0;
    const int error = lunar_remove(table, &k);
    if (there || no_room(error)) return changed(error, after);
    const int read = read_result(error);
    require(read == 1 || read == LUNAR_E_NOT_FOUND, "a removal finds its row");
  }

  void get() {
    const int number = static_cast<int>(bytes_.below(tables));
    lunar_table* table = open(number);
    if (!table) return;
    const std::string key = key_of(now_[number], bytes_.next());
    const lunar_value k = value_of(now_[number], key);
    const auto& rows = now_[number].rows;
    const auto it = rows.find(key);
    const std::size_t room = bytes_.below(4) == 0 ? bytes_.next() : sizeof row_;
    lunar_value values[3];
    const int error = read_result(lunar_get(table, &k, row_, room, values));
    if (error == 1) return;
    if (it == rows.end()) return require(error == LUNAR_E_NOT_FOUND, "a row that is not there is not found");
    if (error == LUNAR_E_BUFFER) return require(room < it->second.bytes + 40U, "a buffer is large enough for its row");
    require(error == 0 && bytes_of(values[2]) == it->second.content() && values[0].as.integer == it->second.number,
            "a row is found as it was stored");
  }

  void create() {
    const int number = static_cast<int>(bytes_.below(tables));
    const std::uint32_t kind = bytes_.next();
    Table table;
    table.index = kind & 1 ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH, table.text_keys = (kind & 2) != 0;
    if (kind & 4) table.ring_rows = 1 + (kind >> 3);
    table.made = ++age_;
    const lunar_schema schema = schema_of(table);
    const bool there = now_.contains(number);
    State after = now_;
    after.emplace(number, table);
    const int error = lunar_table_create(&db_, name_of(number).c_str(), &schema);
    if (!there || no_room(error)) return changed(error, there ? now_ : after);
    const int read = read_result(error);
    require(read == 1 || read == LUNAR_E_EXISTS, "a table's name is there once");
  }

  void drop() {
    const int number = static_cast<int>(bytes_.below(tables));
    State after = now_;
    const bool there = after.erase(number) != 0;
    const int error = lunar_table_drop(&db_, name_of(number).c_str());
    if (error == 0 && caches_[number].db != nullptr) {
      const int closed = lunar_cache_close(&caches_[number]);
      require(closed == 0 || closed == LUNAR_E_INVALID, "a dropped table's cache can be closed");
    }
    if (there || no_room(error)) return changed(error, after);
    const int read = read_result(error);
    require(read == 1 || read == LUNAR_E_NO_TABLE, "what is dropped was there");
  }

  static std::string index_name(int table, std::uint32_t which) {
    return {'i', static_cast<char>('0' + table), static_cast<char>('0' + which)};
  }

  // Durable when it is made.
  void create_index() {
    const int number = static_cast<int>(bytes_.below(tables));
    const std::string name = index_name(number, bytes_.below(indexes));
    const std::uint32_t kind = bytes_.next();
    Index index{static_cast<std::uint8_t>(kind % 3), static_cast<std::uint8_t>(kind / 3 % 2), ++age_};
    State after = now_;
    const bool table = now_.contains(number), there = table && now_[number].indexes.contains(name);
    if (table) after[number].indexes.emplace(name, index);
    const int error = lunar_index_create(&db_, name_of(number).c_str(), name.c_str(), index.column, index.kind);
    if (transaction_ && error != LUNAR_E_IO) return require(error == LUNAR_E_TXN, "no index is made in a transaction");
    if (error == 0) require(table && !there, "an index is made for a table that is there, once");
    if (!table || there || transaction_) {
      const int read = read_result(error);
      return require(read == 1 || read == (table ? LUNAR_E_EXISTS : LUNAR_E_NO_TABLE), "an index's name is there once");
    }
    changed(error, after);
    if (error == 0) durable();
  }

  void drop_index() {
    const int number = static_cast<int>(bytes_.below(tables));
    const std::string name = index_name(number, bytes_.below(indexes));
    State after = now_;
    const bool there = now_.contains(number) && after[number].indexes.erase(name) != 0;
    const int error = lunar_index_drop(&db_, name.c_str());
    if (there || no_room(error)) return changed(error, after);
    const int read = read_result(error);
    require(read == 1 || read == LUNAR_E_NO_TABLE, "an index that is dropped was there");
  }

  void begin() {
    const int error = lunar_begin(&db_);
    if (config_.mode == LUNAR_MODE_NONE)
      return require(error == LUNAR_E_UNSUPPORTED, "there are no transactions in mode none");
    if (error != 0) return failed(error, now_);
    transaction_ = true, before_ = now_;
  }

  void end_transaction(bool commits) {
    const int error = commits ? lunar_commit(&db_) : lunar_rollback(&db_);
    const State after = now_;
    if (error != 0 || !commits) {
      forget_transaction();
      if (error != 0) return failed(error == LUNAR_E_FAILED ? LUNAR_E_IO : error, commits ? after : now_);
      return bytes_.below(4) == 0 ? verify() : void();
    }
    transaction_ = false;
    changed(0, after);
  }

  void compact() {
    std::uint32_t moved = 0;
    const std::uint32_t rows = bytes_.below(20);
    const int error = lunar_compact(&db_, rows, &moved);
    if (transaction_ && error != LUNAR_E_IO)
      return require(error == LUNAR_E_TXN, "a transaction is ended before rows move");
    if (error != 0) return failed(error, now_);
    require(moved <= rows, "not more rows move than was said");
  }
  void whole_volume(int error) {
    if (transaction_ && error != LUNAR_E_IO)
      return require(error == LUNAR_E_TXN, "a transaction is ended before a sync");
    if (error != 0) return failed(error, now_);
    durable();
  }

  void check() {
    lunar_findings found{};
    const int error = read_result(lunar_check(&db_, &found));
    if (error == 1) return;
    if (error == LUNAR_E_CORRUPT) std::fprintf(stderr, "%s: ", found.text);
    require(error == (transaction_ ? LUNAR_E_TXN : 0), "lunar_check finds nothing");
  }

  void unmount() {
    if (transaction_) forget_transaction();
    const int error = lunar_unmount(&db_);
    cursor_table_ = -1;
    if (error == 0) {
      durable();
      if (bytes_.below(3) == 0) config_.mode = static_cast<lunar_mode>(1 + bytes_.below(5));
      return mount_and_go_on();
    }
    require((error == LUNAR_E_IO || error == LUNAR_E_FAILED) && may_fail(), "unmounting fails with the device only");
    return config_.mode == LUNAR_MODE_NONE ? anything_goes(false) : mount_and_go_on();
  }

  void cut() {
    if (transaction_) forget_transaction();
    std::uint64_t seed = bytes_.next() * 2U + 1U;
    const std::uint32_t torn = config_.atomic_write_bytes == 0 && bytes_.below(2) == 0 ? 64 : 0;
    emubd_cut(&device_, &seed, bytes_.next() + 1, torn);
    return config_.mode == LUNAR_MODE_NONE ? anything_goes(true) : mount_and_go_on();
  }

  void wrong_calls() {
    const lunar_value wrong[] = {lunar_test::text("no number"), integer(1), integer(1)};
    lunar_schema none{};
    require(lunar_table_create(&db_, "t", &none) == LUNAR_E_INVALID, "a table has columns");
    if (!now_.contains(0)) return;
    lunar_table* table = open(0);
    if (!table) return;
    const int inserted = read_result(lunar_insert(table, wrong));  // rows may move before the values are checked
    if (inserted == 1) return;
    require(inserted == LUNAR_E_INVALID, "a value has its column's type");
    require(lunar_update(table, &wrong[1], 1, &wrong[1]) == LUNAR_E_INVALID, "a key is not updated");
    if (transaction_) {
      const int error = lunar_begin(&db_);
      if (error != LUNAR_E_TXN) failed(error, now_);
    }
  }

  // --- a cursor that stays open over other calls ---

  void cursor_open() {
    const int number = static_cast<int>(bytes_.below(tables));
    if (!now_.contains(number) || !open(number)) return;
    if (!now_.contains(number)) return;
    const Table& table = now_[number];
    if (cursor_table_ >= 0 && bytes_.below(4) != 0) lunar_cursor_close(&cursor_); /* or it is given up */
    cursor_table_ = number, pending_.clear(), last_.reset();
    descending_ = bytes_.below(2) == 1;
    from_ = key_of(table, bytes_.next()), to_ = key_of(table, bytes_.next());
    const bool bounded = table.index == LUNAR_INDEX_TREE && bytes_.below(2) == 1;
    from_value_ = value_of(table, from_), to_value_ = value_of(table, to_);
    cursor_handle_ = handles_[number], cursor_index_.clear();
    if (!table.indexes.empty() && bytes_.below(4) != 0) return index_cursor_open(table);
    const int error = lunar_cursor_open(&cursor_, &cursor_handle_, bounded ? &from_value_ : nullptr,
                                        bounded ? &to_value_ : nullptr, descending_);
    require(error == 0, "a cursor can be opened");
    for (const auto& [key, row] : table.rows)
      if (!bounded || (key >= from_ && key <= to_)) pending_.insert(key);
  }

  // By an index: all rows of a tree, those of one value by hashing.
  void index_cursor_open(const Table& table) {
    auto it = table.indexes.begin();
    std::advance(it, bytes_.below(static_cast<std::uint32_t>(table.indexes.size())));
    const Index& index = it->second;
    const auto row = table.rows.find(from_);
    const bool hash = index.kind == LUNAR_INDEX_HASH;
    const Row like = row == table.rows.end() ? Row{} : row->second;
    content_ = like.content();
    if (index.column == 0) from_value_ = integer(like.number);
    if (index.column == 2) from_value_ = lunar_test::blob(content_);
    const lunar_value* bound = hash ? &from_value_ : nullptr;
    const int error =
        read_result(lunar_index_cursor(&cursor_, &cursor_handle_, it->first.c_str(), bound, bound, descending_));
    if (error == 1) {
      cursor_table_ = -1;
      return;
    }
    require(error == 0, "a cursor by an index can be opened");
    cursor_index_ = it->first, cursor_of_ = index;
    for (const auto& [key, row_of] : table.rows)
      if (!hash || indexed(key, row_of, index.column) == indexed(from_, like, index.column)) pending_.insert(key);
  }

  // The row's place in the cursor's order, or where it lies, is another one.
  void changed_under_cursor(int table, const std::string& key, std::uint8_t column) {
    if (table != cursor_table_ || cursor_index_.empty()) return;
    if (column == cursor_of_.column || cursor_of_.kind == LUNAR_INDEX_HASH) pending_.erase(key);
  }

  void cursor_step() {
    if (cursor_table_ < 0) return;
    lunar_value values[3];
    const int error = read_result(lunar_cursor_next(&cursor_, row_, sizeof row_, values));
    if (error == 1 || cursor_table_ < 0) return;
    if (error == LUNAR_E_NOT_FOUND) {
      require(pending_.empty(), "a cursor reads each row that is there all the time");
      cursor_table_ = -1;
      return;
    }
    if (error == LUNAR_E_MOVED) {
      cursor_table_ = -1;
      return;
    }
    if (error != 0) std::fprintf(stderr, "%s: ", lunar_error_text(error));
    require(error == 0, "a cursor goes on");
    const Table& table = now_[cursor_table_];
    const std::string key = key_from(table, values[1]);
    const auto it = table.rows.find(key);
    require(it != table.rows.end() && bytes_of(values[2]) == it->second.content() &&
                values[0].as.integer == it->second.number,
            "a cursor reads what is there");
    const std::string value = indexed(key, it->second, cursor_of_.column).substr(0, 20);
    if (!cursor_index_.empty() && cursor_of_.kind == LUNAR_INDEX_TREE && last_)
      require(descending_ ? value <= *last_ : value >= *last_, "a cursor by an index goes one way");
    if (!cursor_index_.empty()) {
      last_ = value, pending_.erase(key);
      return;
    }
    if (table.index == LUNAR_INDEX_TREE && last_)
      require(descending_ ? key < *last_ : key > *last_, "a cursor by key goes one way");
    last_ = key, pending_.erase(key);
  }

  void forget_of_cursor(const State& after) {
    if (cursor_table_ < 0) return;
    const auto table = after.find(cursor_table_);
    if (table == after.end() || table->second.made != now_[cursor_table_].made) {
      cursor_table_ = -1;
      return;
    }
    const auto index = table->second.indexes.find(cursor_index_);
    if (!cursor_index_.empty() && (index == table->second.indexes.end() || index->second.made != cursor_of_.made)) {
      cursor_table_ = -1;
      return;
    }
    for (auto it = pending_.begin(); it != pending_.end();)
      it = table->second.rows.contains(*it) ? std::next(it) : pending_.erase(it);
  }

  Bytes bytes_;
  emubd device_{};
  lunar_config config_{};
  std::vector<std::uint32_t> buffer_;
  lunar db_{};
  lunar_table handles_[tables]{}, cursor_handle_{};
  bool cached_ = false;
  lunar_cache caches_[tables]{};
  std::uint32_t memory_[tables][4 * cached_row];
  char row_[4000];
  State now_, before_;  // now; when the transaction began
  std::vector<State> since_;
  bool transaction_ = false;
  std::uint64_t age_ = 0;
  lunar_cursor cursor_{};
  int cursor_table_ = -1;     // -1: there is no cursor
  std::string cursor_index_;  // its name; empty: none
  Index cursor_of_;
  std::string content_;
  bool descending_ = false;
  std::string from_, to_, moved_;
  lunar_value from_value_{}, to_value_{};
  std::optional<std::string> last_;
  std::set<std::string> pending_;  // still to be read
};

}  // namespace

void run_calls(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return;
  const auto program = std::make_unique<Program>(data, size);
  program->run();
}

}  // namespace lunar_fuzz
