#include "world.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "values.h"

namespace lunar_test {
namespace {

void must(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + lunar_error_text(error));
}

constexpr const char* names[] = {"tree by number", "hash by text", "tree by text"};

lunar_schema schema(const Options& options) {
  lunar_schema s{};
  s.index = options.index;
  if (options.ring_rows != 0) s.ring = LUNAR_RING_ROWS, s.ring_limit = options.ring_rows;
  s.checksum = options.checksums ? 1 : 0;
  s.column_count = 3;
  std::strcpy(s.columns[0].name, "key");
  s.columns[0].type = LUNAR_INT64;
  std::strcpy(s.columns[1].name, "text");
  s.columns[1].type = LUNAR_BLOB;
  std::strcpy(s.columns[2].name, "number");
  s.columns[2].type = LUNAR_INT32;
  return s;
}

}  // namespace

World::World(const Options& options, std::uint64_t seed)
    : options_(options), random_(seed), buffer_(new std::uint32_t[options.buffer_bytes / 4]) {
  if (emubd_open(&device, options.sector_bytes, options.sectors) != 0) throw std::bad_alloc();
  emubd_config(&device, &config_);
  config_.buffer = buffer_.get(), config_.buffer_bytes = options.buffer_bytes, config_.mode = options.mode;
  config_.atomic_write_bytes = options.atomic_sectors ? options.sector_bytes : 0;
  config_.tables_max = static_cast<std::uint16_t>(options.secondary == 0 ? 2 : 3 + options.secondary);
  config_.log_bytes = options.log_bytes;
  config_.seed = options.volume_seed;
  config_.skip_unreadable = options.skip_unreadable ? 1 : 0;
  must(lunar_format(&config_), "format");
  must(lunar_mount(&db, &config_), "mount");
  const lunar_schema s = schema(options);
  must(lunar_table_create(&db, "rows", &s), "create");
  must(lunar_table_open(&db, "rows", &table), "open");
  for (std::uint32_t i = 0; i < options.secondary; ++i)
    must(lunar_index_create(&db, "rows", names[i], i == 0 ? 2 : 1, i == 1 ? LUNAR_INDEX_HASH : LUNAR_INDEX_TREE),
         "index");
  insert_first_rows();
  must(sync(), "sync");
  device.ignore_sync = options.device_ignores_sync;
}

World::~World() { emubd_close(&device); }

int World::mount() {
  did = "mount";
  const int error = lunar_mount(&db, &config_);
  if (error != 0) return error;
  did = "open";
  return lunar_table_open(&db, "rows", &table);
}

int World::durable(int error) {
  if (error == 0) since.assign(1, now);
  return error;
}

int World::sync() {
  did = "sync";
  return durable(lunar_sync(&db));
}

int World::checkpoint() {
  did = "checkpoint";
  return durable(lunar_checkpoint(&db));
}

int World::unmount() {
  did = "unmount";
  return durable(lunar_unmount(&db));
}

int World::acknowledged(int error, const State& after) {
  if (in_transaction_) {  // the commit makes one moment of it
    if (error == 0) now = after;
    return error;
  }
  since.push_back(after);  // a pending operation may survive a cut
  if (error != 0) return error;
  now = after;
  if (options_.mode == LUNAR_MODE_FULL) since.assign(1, now);
  return 0;
}

std::string World::random_text() {
  std::string text(random(random(3) == 0 ? options_.text_bytes_max : options_.text_bytes_max / 8), ' ');
  for (auto& c : text) c = static_cast<char>(random_());
  return text;
}

int World::insert(std::int64_t key, const Row& row) {
  did = "insert";
  const lunar_value values[] = {integer(key), blob(row.text), number_value(row.number)};
  const int error = lunar_insert(&table, values);
  State after = now;
  if (no_room(error)) return 0;
  if (now.contains(key)) return error == LUNAR_E_EXISTS ? 0 : acknowledged(error == 0 ? LUNAR_E_CORRUPT : error, after);
  append(after, key, row);
  return acknowledged(error, after);
}

void World::append(State& state, std::int64_t key, const Row& row) {
  state[key] = row;
  state[key].age = ++age_;
  auto rows = rows_of(state);
  for (; options_.ring_rows != 0 && rows > options_.ring_rows; --rows) {
    auto oldest = state.end();
    for (auto it = state.begin(); it != state.end(); ++it) {
      if (it->first >= 0 && (oldest == state.end() || it->second.age < oldest->second.age)) oldest = it;
    }
    state.erase(oldest);
  }
}

int World::update_text(std::int64_t key, const std::string& text) {
  did = "update of text";
  const lunar_value k = integer(key), v = blob(text);
  const int error = lunar_update(&table, &k, 1, &v);
  if (no_room(error)) return 0;
  State after = now;
  if (after[key].text.size() != text.size()) after[key].age = ++age_;  // it moves
  after[key].text = text;
  return acknowledged(error, after);
}

bool World::no_room(int error) {
  // E_MOVED: on a nearly full device a statement makes room while it scans.
  full_ = error == LUNAR_E_FULL || error == LUNAR_E_TXN_FULL || error == LUNAR_E_MOVED;
  return full_;
}

int World::update_number(std::int64_t key, std::int32_t number) {
  did = "update of a number";
  const lunar_value k = integer(key), v = number_value(number);
  const int error = lunar_update(&table, &k, 2, &v);
  if (no_room(error)) return 0;
  State after = now;
  if (v.type != number_value(after[key].number).type) after[key].age = ++age_;  // it moves
  after[key].number = number;
  return acknowledged(error, after);
}

int World::remove(std::int64_t key) {
  did = "remove";
  const lunar_value k = integer(key);
  const int error = lunar_remove(&table, &k);
  if (no_room(error)) return 0;
  State after = now;
  after.erase(key);
  return acknowledged(error, after);
}

int World::toggle_other_table() {
  did = "create or drop";
  const lunar_schema s = schema(options_);
  State after = now;
  if (after.erase(other_table) != 0) return acknowledged(lunar_table_drop(&db, "other"), after);
  const int error = lunar_table_create(&db, "other", &s);
  if (error == LUNAR_E_FULL) return 0;
  after[other_table] = {};
  return acknowledged(error, after);
}

lunar_value World::number_value(std::int32_t number) const {
  return options_.secondary != 0 && number == 0 ? lunar_value{} : integer(number);
}

int World::toggle_other_index() {
  did = "create or drop of an index";
  State after = now;
  if (after.erase(other_index) != 0) {
    const int error = lunar_index_drop(&db, "other index");
    return no_room(error) ? 0 : acknowledged(error, after);
  }
  const int error = lunar_index_create(&db, "rows", "other index", 2, LUNAR_INDEX_HASH);
  after[other_index] = {};
  return no_room(error) ? 0 : acknowledged(error, after);
}

// Runs a transaction, which is atomic. An operation without room has rolled it back.
int World::transaction_while(const std::function<bool()>& goes_on) {
  const State before = now;
  did = "begin";
  int error = lunar_begin(&db);
  if (error != 0) return error;
  in_transaction_ = true;
  while (error == 0 && !full_ && goes_on())
    error = options_.statements && random(16) == 0 ? statement() : change_a_row();
  in_transaction_ = false;
  const bool commits = error == 0 && !full_ && random(3) != 0;
  const State after = now;
  if (error == 0) {
    did = commits ? "commit" : "rollback";
    error = commits ? lunar_commit(&db) : lunar_rollback(&db);
  } else if (error != 0 && lunar_rollback(&db) == 0) {
    did += ", rolled back";  // after a failed read it was open; other failures end it
  }
  full_ = false;
  now = before;
  return commits ? acknowledged(error, after) : error;
}

int World::transaction() {
  auto rows = 1 + random(6);
  return transaction_while([&rows] { return rows-- > 0; });
}

int World::long_transaction() {
  const std::uint32_t spills = 2 + random(options_.spills_max - 1);
  const auto first = db.spills;
  return transaction_while([&, rows = 4000]() mutable { return rows-- > 0 && db.spills - first < spills; });
}

int World::step() {
  if (options_.secondary != 0 && random(16) == 0) {
    const int error = toggle_other_index();
    full_ = false;
    return error;
  }
  if (random(20) == 0) return toggle_other_table();
  if (options_.compactions && random(6) == 0) return compaction();
  if (options_.spills_max != 0 && random(3) == 0) return long_transaction();
  if (options_.mode != LUNAR_MODE_NONE && random(12) == 0) return transaction();
  const int error = options_.statements && random(2) == 0 ? statement() : change_a_row();
  full_ = false;
  return error;
}

std::int32_t World::random_number() {
  const auto number = static_cast<std::int32_t>(random_());
  return options_.secondary != 0 ? number % 4 : number;
}

int World::change_a_row() {
  const std::int64_t key = random(options_.keys);
  const std::int32_t number = random_number();
  const std::uint32_t kind = random(10);
  if (!now.contains(key) || kind < 2) return insert(key, {random_text(), number});
  if (kind < 5) return remove(key);
  if (kind < 8) return update_number(key, number);
  std::string text = random_text();
  if (random(2) == 0) text.resize(now.at(key).text.size(), 'p');
  return update_text(key, text);
}

void World::insert_first_rows() {
  for (std::int64_t key = 0; key < options_.first_rows; ++key)
    must(insert(key, {random_text(), random_number()}), "insert");
}

int World::run(const std::string& sql, const std::vector<lunar_value>& parameters) {
  std::vector<std::uint64_t> memory(8192);
  lunar_statement* prepared = nullptr;
  int error = lunar_prepare(&db, sql.data(), sql.size(), memory.data(), memory.size() * 8, &prepared, nullptr);
  for (unsigned i = 0; i < parameters.size() && error == 0; ++i) error = lunar_bind(prepared, i + 1, &parameters[i]);
  if (error == 0) error = lunar_step(prepared);
  if (prepared != nullptr) lunar_finalize(prepared);
  return error;
}

// Inserts up to eighty rows by one statement.
int World::insert_rows() {
  State after = now;
  std::vector<lunar_value> parameters;
  std::vector<std::string> texts;
  texts.reserve(80);
  std::string sql = "INSERT INTO rows VALUES ";
  for (auto wanted = 1 + random(80); wanted > 0; --wanted) {
    const std::int64_t key = random(options_.keys);
    if (after.contains(key)) continue;
    const Row row{random_text(), random_number()};
    append(after, key, row);
    sql += texts.empty() ? "(?, ?, ?)" : ", (?, ?, ?)";
    texts.push_back(row.text);
    parameters.insert(parameters.end(), {integer(key), blob(texts.back()), number_value(row.number)});
  }
  if (texts.empty()) return 0;
  const int error = run(sql, parameters);
  return no_room(error) ? 0 : acknowledged(error, after);
}

int World::remove_all() {
  did = "truncation";
  State after = now;
  std::erase_if(after, [](const auto& row) { return row.first >= 0; });
  const int error = run("DELETE FROM rows", {});
  return no_room(error) ? 0 : acknowledged(error, after);
}

// Changes the first rows of those with some keys, which the statement looks up in their order.
int World::limited() {
  did = "statement with a limit";
  const bool removes = random(2) == 0;
  const std::int32_t number = random_number();
  auto left = random(12);
  std::string sql = removes ? "DELETE FROM rows" : "UPDATE rows SET \"number\" = ?";
  std::vector<lunar_value> parameters;
  if (!removes) parameters.push_back(number_value(number));
  sql += " WHERE \"key\" IN (";
  const std::string limit = std::to_string(left);
  State after = now;
  std::int64_t key = random(options_.keys / 2);
  for (std::uint32_t i = 0; i < 16; ++i, key += 1 + random(8)) {
    sql += i == 0 ? "?" : ", ?";
    parameters.push_back(integer(key));
    const auto found = after.find(key);
    if (left == 0 || found == after.end()) continue;
    --left;
    if (removes) {
      after.erase(found);
      continue;
    }
    if (number_value(number).type != number_value(found->second.number).type) found->second.age = ++age_;
    found->second.number = number;
  }
  const int error = run(sql + ") LIMIT " + limit, parameters);
  return no_room(error) ? 0 : acknowledged(error, after);
}

int World::compaction() {
  did = "compaction";
  std::uint32_t moved = 0;
  return acknowledged(lunar_compact(&db, 1 + random(40), &moved), now);
}

// Changes the rows of a range of keys or, at times, those with a number through its index.
int World::statement() {
  if (options_.truncations && random(6) == 0) return remove_all();
  if (options_.compactions && random(3) == 0) return limited();
  did = "statement";
  const std::uint32_t kind = random(10);
  if (kind < 3) return insert_rows();
  const std::int64_t from = random(options_.keys), to = from + 1 + random(options_.keys);
  const std::int32_t number = random_number(), wanted = random_number();
  const bool by_number = options_.secondary != 0 && wanted != 0 && random(3) == 0;
  const std::string text = random_text();
  State after = now;
  for (const auto& [key, row] : now) {
    if (key < 0 || (by_number ? row.number != wanted : key < from || key >= to)) continue;
    if (kind < 4) {
      after.erase(key);
      continue;
    }
    Row& changed = after[key];
    if (kind < 8) changed.number = number;
    if (kind >= 8) changed.text = text;
    const bool moves =
        row.text.size() != changed.text.size() || number_value(row.number).type != number_value(changed.number).type;
    if (moves) changed.age = ++age_;
  }
  std::string sql = "DELETE FROM rows";
  std::vector<lunar_value> parameters;
  if (kind >= 4) sql = kind < 8 ? "UPDATE rows SET \"number\" = ?" : "UPDATE rows SET \"text\" = ?";
  if (kind >= 4) parameters.push_back(kind < 8 ? number_value(number) : blob(text));
  sql += by_number ? " WHERE \"number\" = ?" : " WHERE \"key\" >= ? AND \"key\" < ?";
  parameters.push_back(by_number ? integer(wanted) : integer(from));
  if (!by_number) parameters.push_back(integer(to));
  const int error = run(sql, parameters);
  return no_room(error) ? 0 : acknowledged(error, after);
}

std::optional<State> World::read() {
  State state;
  lunar_table other;
  const int opened = lunar_table_open(&db, "other", &other);
  if (opened == 0) state[other_table] = {};
  if (opened != 0 && opened != LUNAR_E_NO_TABLE) return std::nullopt;
  std::vector<char> row(options_.text_bytes_max + 64);
  for (std::int64_t key = 0; key < options_.keys; ++key) {
    const lunar_value k = integer(key);
    lunar_value values[3];
    const int error = lunar_get(&table, &k, row.data(), row.size(), values);
    if (error == LUNAR_E_NOT_FOUND) continue;
    if (error != 0 || values[0].as.integer != key) return std::nullopt;
    if (values[2].type == LUNAR_NULL) values[2] = integer(0);
    state[key] = {bytes_of(values[1]), static_cast<std::int32_t>(values[2].as.integer)};
  }
  if (!read_by_cursor(state)) return std::nullopt;
  std::uint64_t rows = 0;
  if (lunar_count(&table, &rows) != 0 || rows != rows_of(state)) return std::nullopt;
  if (options_.secondary != 0 && !read_by_indexes(state)) return std::nullopt;
  return state;
}

// Expects each row once with the same content, and sets the rows' age from their order.
bool World::read_by_cursor(State& state) {
  lunar_cursor cursor;
  if (lunar_cursor_open(&cursor, &table, nullptr, nullptr, 0) != 0) return false;
  std::vector<char> row(options_.text_bytes_max + 64);
  std::size_t rows = 0;
  std::int64_t last = -1;
  for (;; ++rows) {
    lunar_value values[3];
    const int error = lunar_cursor_next(&cursor, row.data(), row.size(), values);
    if (error == LUNAR_E_NOT_FOUND) break;
    if (error != 0) return false;
    const auto found = state.find(values[0].as.integer);
    if (found == state.end() || found->second.age != 0) return false;
    if (options_.index == LUNAR_INDEX_TREE && found->first <= last) return false;
    last = found->first;
    found->second.age = ++age_;
    if (values[2].type == LUNAR_NULL) values[2] = integer(0);
    if (found->second.number != static_cast<std::int32_t>(values[2].as.integer) ||
        found->second.text != bytes_of(values[1]))
      return false;
  }
  return rows == rows_of(state);
}

// Returns whether an index gives the expected rows, in their order if it is ordered.
bool World::reads(const char* index, const lunar_value* value, bool descending, const State& state,
                  std::vector<std::int64_t> expected, bool ordered) {
  lunar_cursor cursor;
  if (lunar_index_cursor(&cursor, &table, index, value, value, descending) != 0) return false;
  std::vector<char> row(options_.text_bytes_max + 64);
  std::vector<std::int64_t> found;
  lunar_value values[3];
  int error = 0;
  while ((error = lunar_cursor_next(&cursor, row.data(), row.size(), values)) == 0) {
    found.push_back(values[0].as.integer);
    const auto it = state.find(found.back());
    if (it == state.end() || it->second.text != bytes_of(values[1])) return false;
  }
  if (!ordered) std::sort(found.begin(), found.end()), std::sort(expected.begin(), expected.end());
  if (ordered && descending) std::reverse(expected.begin(), expected.end());
  return error == LUNAR_E_NOT_FOUND && found == expected;
}

// Expects that each index gives all rows, in its order or value by value.
bool World::read_by_indexes(State& state) {
  std::uint32_t indexes = 0;
  lunar_index_info info;
  int error = 0;
  for (std::uint8_t at = 0; (error = lunar_index_list(&table, &at, &info)) == 0; ++indexes) {
    if (std::strcmp(info.name, "other index") == 0) state[other_index] = {}, --indexes;
    std::map<std::string, std::vector<std::int64_t>> keys;  // by the ordering or hashed value
    for (const auto& [key, row] : state) {
      if (key < 0) continue;
      std::string order;
      for (const char c : row.text) order += c == 0 ? std::string("\0\xff", 2) : std::string(1, c);
      if (info.column == 2) order = row.number == 0 ? "" : std::to_string(row.number + 20000);
      if (info.kind == LUNAR_INDEX_TREE) order = (order + std::string(2, '\0')).substr(0, 55);
      keys[order].push_back(key);
    }
    if (info.kind == LUNAR_INDEX_TREE) {
      std::vector<std::int64_t> all;
      for (const auto& [order, some] : keys) all.insert(all.end(), some.begin(), some.end());
      if (!reads(info.name, nullptr, false, state, all, true) || !reads(info.name, nullptr, true, state, all, true))
        return false;
      continue;
    }
    for (const auto& [order, some] : keys) {
      const Row& row = state.at(some.front());
      const lunar_value value = info.column == 2 ? number_value(row.number) : blob(row.text);
      if (!reads(info.name, &value, false, state, some, false)) return false;
    }
    const lunar_value none = info.column == 2 ? integer(77) : bytes_of(LUNAR_BLOB, "none", 4);
    if (!reads(info.name, &none, false, state, {}, false)) return false;
  }
  return error == LUNAR_E_NOT_FOUND && indexes == options_.secondary;
}

void World::cut() {
  std::uint64_t seed = random_() | 1U;
  const unsigned survive = random(4) == 0 ? (random(2) == 0 ? 0U : 256U) : random(257);
  emubd_cut(&device, &seed, survive, !options_.atomic_sectors && random(2) == 0 ? 64 : 0);
}

// Returns whether each byte of the row is from one of its versions at this place since the last sync.
bool World::made_of_versions(std::int64_t key, const Row& row, std::uint64_t age) const {
  std::string number(reinterpret_cast<const char*>(&row.number), sizeof row.number);
  const std::string found = row.text + number;
  std::vector<bool> explained(found.size());
  for (const auto& moment : since) {
    const auto it = moment.find(key);
    if (it == moment.end() || it->second.age != age) continue;
    number.assign(reinterpret_cast<const char*>(&it->second.number), sizeof row.number);
    const std::string version = it->second.text + number;
    for (std::size_t i = 0; i < found.size() && version.size() == found.size(); ++i)
      if (version[i] == found[i]) explained[i] = true;
  }
  return std::find(explained.begin(), explained.end(), false) == explained.end();
}

bool World::permitted(const State& state) const {
  const auto same = [this](const auto& a, const auto& b) {
    if (a.first != b.first) return false;
    return a.second == b.second ||
           (updates_in_place() && a.first >= 0 && a.second.text.size() == b.second.text.size() &&
            made_of_versions(a.first, b.second, a.second.age));
  };
  return std::any_of(since.begin(), since.end(), [&](const State& moment) {
    return moment.size() == state.size() && std::equal(moment.begin(), moment.end(), state.begin(), same);
  });
}

bool World::permitted(const State& state, const std::vector<State>& before) {
  const auto after = since;
  since.insert(since.end(), before.begin(), before.end());
  const bool is = permitted(state);
  since = after;
  return is;
}

void World::go_on_from(const State& state) {
  now = state;
  since.assign(1, now);
}

std::uint64_t World::image_hash() const {
  return std::hash<std::string_view>{}(
      {reinterpret_cast<const char*>(device.sectors), std::size_t{device.sector_bytes} * device.sector_count});
}

}  // namespace lunar_test
