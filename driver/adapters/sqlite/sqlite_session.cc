#include "sqlite_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace edgejoule::driver {
namespace {

std::string_view name(std::string_view name) { return name; }
std::string_view name(const Field& field) { return field.name; }

// The cached statement for exactly these names, or a new one from `prepare`.
template <typename Cache, typename Named, typename Prepare>
sqlite3_stmt* cached(Cache& cache, std::span<const Named> named, Prepare prepare) {
  const auto same = [named](const auto& prepared) {
    return std::equal(named.begin(), named.end(), prepared.names.begin(), prepared.names.end(),
                      [](const Named& left, const std::string& right) { return name(left) == right; });
  };
  const auto found = std::find_if(cache.begin(), cache.end(), same);
  if (found != cache.end()) return found->statement.get();
  std::vector<std::string> names;
  for (const Named& each : named) names.emplace_back(name(each));
  Statement statement = prepare();
  cache.push_back({std::move(names), std::move(statement)});
  return cache.back().statement.get();
}

// Binds without a copy: the bytes must be valid during the call that steps the statement. SQLITE_TOOBIG: above SQLite's
// limit.
int bind_text(sqlite3_stmt* statement, int index, std::string_view text) {
  return sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

int bind_blob(sqlite3_stmt* statement, int index, std::string_view bytes) {
  return sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_STATIC);
}

std::optional<sqlite3_int64> integer(std::string_view text) {
  sqlite3_int64 number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The key of the last scanned row, complete or not; `start` if there is none.
std::string_view last_key(const ScanBuffer& values, std::size_t columns, std::string_view start) {
  return values.size() == 0 ? start : values[(values.size() - 1) / columns * columns];
}

std::uint64_t counter(sqlite3* connection, int which) {
  int current = 0;
  int highest = 0;
  sqlite3_db_status(connection, which, &current, &highest, 0);
  return static_cast<std::uint64_t>(current);
}

}  // namespace

void SqliteConnectionCounters::add(sqlite3* connection) {
  cache_hits += counter(connection, SQLITE_DBSTATUS_CACHE_HIT);
  cache_misses += counter(connection, SQLITE_DBSTATUS_CACHE_MISS);
  cache_writes += counter(connection, SQLITE_DBSTATUS_CACHE_WRITE);
  cache_spills += counter(connection, SQLITE_DBSTATUS_CACHE_SPILL);
  total_changes += static_cast<std::uint64_t>(sqlite3_total_changes64(connection));
}

SqliteSession::SqliteSession(const SqliteSettings& settings, std::shared_ptr<SqliteConnection> connection,
                             SqliteCheckpoints& checkpoints, SqliteConnectionCounters& counters)
    : settings_(settings), counters_(counters), connection_(std::move(connection)) {
  checkpoints.watch(connection_->handle());
  remove_ = connection_->prepare(fmt::format("DELETE FROM {} WHERE YCSB_KEY=?", sql_name(settings.table)));
  begin_ = connection_->prepare("BEGIN IMMEDIATE");
  commit_ = connection_->prepare("COMMIT");
  rollback_ = connection_->prepare("ROLLBACK");
}

std::string_view SqliteSession::name_of(FieldNames names, std::size_t index) const {
  return names.empty() ? std::string_view(settings_.field_names[index]) : names[index];
}

std::size_t SqliteSession::count_of(FieldNames names) const {
  return names.empty() ? settings_.field_names.size() : names.size();
}

std::string SqliteSession::columns(FieldNames names) const {
  std::string text;
  for (std::size_t index = 0; index < count_of(names); ++index) {
    if (index > 0) text += ',';
    text += sql_name(name_of(names, index));
  }
  return text;
}

sqlite3_stmt* SqliteSession::read_statement(FieldNames names) {
  return cached(reads_, names, [this, names] {
    return connection_->prepare(
        fmt::format("SELECT {} FROM {} WHERE YCSB_KEY=?", columns(names), sql_name(settings_.table)));
  });
}

sqlite3_stmt* SqliteSession::scan_statement(FieldNames names) {
  return cached(scans_, names, [this, names] {
    return connection_->prepare(fmt::format("SELECT YCSB_KEY,{} FROM {} WHERE YCSB_KEY>=? ORDER BY YCSB_KEY LIMIT ?",
                                            columns(names), sql_name(settings_.table)));
  });
}

sqlite3_stmt* SqliteSession::update_statement(Fields fields) {
  return cached(updates_, fields, [this, fields] {
    std::string changes;
    for (const Field& field : fields) {
      if (!changes.empty()) changes += ',';
      changes += fmt::format("{}=?", sql_name(field.name));
    }
    return connection_->prepare(fmt::format("UPDATE {} SET {} WHERE YCSB_KEY=?", sql_name(settings_.table), changes));
  });
}

sqlite3_stmt* SqliteSession::insert_statement(Cache& cache, std::string_view verb, Fields fields) {
  return cached(cache, fields, [this, verb, fields] {
    std::string names;
    std::string marks;
    for (const Field& field : fields) {
      names += sql_name(field.name) + ',';
      marks += "?,";
    }
    return connection_->prepare(
        fmt::format("{} INTO {} ({}YCSB_KEY) VALUES ({}?)", verb, sql_name(settings_.table), names, marks));
  });
}

Status SqliteSession::failed(int code, std::string_view operation, std::string_view key) {
  error_ = fmt::format("{} of key {}: {}", operation, key, connection_->error(code));
  const int primary = code & 0xff;
  if (primary == SQLITE_CONSTRAINT) error_ += "; has an earlier run or load inserted it?";
  return primary == SQLITE_BUSY || primary == SQLITE_LOCKED ? Status::busy : Status::error;
}

Status SqliteSession::missing_field(std::string_view key) {
  error_ = fmt::format("SQLite: {}: row of key {} lacks a requested field, or it is not text", settings_.file, key);
  return Status::unexpected_state;
}

// Returns false for a key that SQLite or the table's key type cannot store, and sets the error.
bool SqliteSession::bind_key(sqlite3_stmt* statement, int index, std::string_view key) {
  if (settings_.key_type != SqliteKeyType::integer) {
    const auto bind = settings_.key_type == SqliteKeyType::text ? bind_text : bind_blob;
    return bound(bind(statement, index, key), key);
  }
  if (const auto number = integer(key)) return bound(sqlite3_bind_int64(statement, index, *number), key);
  error_ = fmt::format("SQLite: key \"{}\": the table's keys are integers; expected digits", key);
  return false;
}

bool SqliteSession::bind_row(sqlite3_stmt* statement, Fields fields, std::string_view key) {
  const auto bind = settings_.field_type == SqliteFieldType::text ? bind_text : bind_blob;
  int index = 0;
  for (const Field& field : fields) {
    if (!bound(bind(statement, ++index, field.value), key)) return false;
  }
  return bind_key(statement, index + 1, key);
}

bool SqliteSession::bound(int code, std::string_view key) {
  if (code == SQLITE_OK) return true;
  error_ = fmt::format("SQLite: {}: the key or a value of key {} cannot be bound: {}", settings_.file, key,
                       sqlite3_errstr(code));
  return false;
}

// Column 0 of a scan.
bool SqliteSession::copy_key(sqlite3_stmt* statement) {
  if (settings_.key_type != SqliteKeyType::integer) return copy_columns(statement, 0, 1);
  if (sqlite3_column_type(statement, 0) != SQLITE_INTEGER) return false;
  const auto* digits = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  values_.append({digits, static_cast<std::size_t>(sqlite3_column_bytes(statement, 0))});
  return true;
}

// Copies instead of leaving the statement open: an unfinished read holds its snapshot and blocks the checkpoints of all
// other sessions.
bool SqliteSession::copy_columns(sqlite3_stmt* statement, int first, int last) {
  for (int column = first; column < last; ++column) {
    const int type = sqlite3_column_type(statement, column);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) return false;
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
    values_.append({bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))});
  }
  return true;
}

Status SqliteSession::read(std::string_view key, FieldNames names, Row& row) {
  sqlite3_stmt* statement = read_statement(names);
  const std::size_t fields = count_of(names);
  if (!bind_key(statement, 1, key)) return Status::error;
  values_.clear();
  const int code = sqlite3_step(statement);
  const bool whole = code == SQLITE_ROW && copy_columns(statement, 0, static_cast<int>(fields));
  const int ended = sqlite3_reset(statement);
  if (code == SQLITE_DONE) return Status::not_found;
  if (code != SQLITE_ROW) return failed(ended, "read", key);
  if (!whole) return missing_field(key);
  row.fields.resize(fields);
  for (std::size_t index = 0; index < fields; ++index) row.fields[index] = {name_of(names, index), values_[index]};
  return Status::ok;
}

Status SqliteSession::scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) {
  sqlite3_stmt* statement = scan_statement(names);
  const std::size_t fields = count_of(names);
  constexpr auto limit_max = static_cast<std::uint64_t>(std::numeric_limits<sqlite3_int64>::max());
  if (!bind_key(statement, 1, start)) return Status::error;
  sqlite3_bind_int64(statement, 2, static_cast<sqlite3_int64>(std::min(count, limit_max)));
  values_.clear();
  int code = SQLITE_DONE;
  bool whole = true;
  while (whole && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    whole = copy_key(statement) && copy_columns(statement, 1, static_cast<int>(fields) + 1);
  }
  const int ended = sqlite3_reset(statement);
  if (!whole) return missing_field(last_key(values_, fields + 1, start));
  if (code != SQLITE_DONE) return failed(ended, "scan", start);
  rows.resize(values_.size() / (fields + 1));
  std::size_t next = 0;
  for (Row& row : rows) {
    row.key = values_[next++];
    row.fields.resize(fields);
    for (std::size_t index = 0; index < fields; ++index) row.fields[index] = {name_of(names, index), values_[next++]};
  }
  return Status::ok;
}

Status SqliteSession::write(sqlite3_stmt* statement, std::string_view operation, std::string_view key,
                            Status when_unchanged) {
  const int code = sqlite3_step(statement);
  const int ended = sqlite3_reset(statement);
  if (code != SQLITE_DONE) return failed(ended, operation, key);
  return sqlite3_changes(connection_->handle()) > 0 ? Status::ok : when_unchanged;
}

Status SqliteSession::update(std::string_view key, Fields fields) {
  sqlite3_stmt* statement = update_statement(fields);
  if (!bind_row(statement, fields, key)) return Status::error;
  return write(statement, "update", key, Status::not_found);
}

Status SqliteSession::insert(std::string_view key, Fields fields) {
  sqlite3_stmt* statement = insert_statement(inserts_, "INSERT", fields);
  if (!bind_row(statement, fields, key)) return Status::error;
  return write(statement, "insert", key, Status::error);
}

Status SqliteSession::upsert(std::string_view key, Fields fields) {
  sqlite3_stmt* statement = insert_statement(upserts_, "REPLACE", fields);
  if (!bind_row(statement, fields, key)) return Status::error;
  return write(statement, "upsert", key, Status::error);
}

Status SqliteSession::remove(std::string_view key) {
  if (!bind_key(remove_.get(), 1, key)) return Status::error;
  return write(remove_.get(), "remove", key, Status::not_found);
}

Status SqliteSession::control(sqlite3_stmt* statement, std::string_view operation) {
  const int code = sqlite3_step(statement);
  const int ended = sqlite3_reset(statement);
  if (code == SQLITE_DONE) return Status::ok;
  error_ = fmt::format("{}: {}", operation, connection_->error(ended));
  return (ended & 0xff) == SQLITE_BUSY ? Status::busy : Status::error;
}

Status SqliteSession::write_batch(std::span<const Record> records,
                                  Status (SqliteSession::*one)(std::string_view, Fields)) {
  Status status = control(begin_.get(), "begin of a batch");
  if (status != Status::ok) return status;
  for (const Record& record : records) {
    status = (this->*one)(record.key, record.fields);
    if (status != Status::ok) break;
  }
  if (status == Status::ok) status = control(commit_.get(), "commit of a batch");
  // On some errors (a full disk) SQLite has rolled back already.
  if (status != Status::ok && sqlite3_get_autocommit(connection_->handle()) == 0) {
    const std::string cause = error_;
    const Status undone = control(rollback_.get(), "rollback of a batch");
    error_ = undone == Status::ok ? cause : cause + "; " + error_;
  }
  return status;
}

}  // namespace edgejoule::driver
