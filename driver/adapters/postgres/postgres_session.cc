#include "postgres_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace edgejoule::driver {
namespace {

std::string_view name(std::string_view name) { return name; }
std::string_view name(const Field& field) { return field.name; }

template <typename Integer>
void append_big_endian(std::string& bytes, Integer number) {
  for (int shift = 8 * (static_cast<int>(sizeof number) - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>(static_cast<unsigned char>(number >> shift));
  }
}

void append_value(std::string& bytes, std::string_view value) {
  append_big_endian(bytes, static_cast<std::uint32_t>(value.size()));
  bytes += value;
}

bool one_set_of_fields(std::span<const Record> records) {
  const auto first = records.front().fields;
  return std::ranges::all_of(records, [first](const Record& record) {
    return std::ranges::equal(record.fields, first, {}, &Field::name, &Field::name);
  });
}

}  // namespace

PostgresSession::PostgresSession(const PostgresSettings& settings, ServerCounters& counters,
                                 std::function<void(PostgresSession*)> ended)
    : ServerSession(settings.server.reconnect_ms, counters),
      settings_(settings),
      ended_(std::move(ended)),
      connection_(settings) {
  connection_.connect();
}

PostgresSession::~PostgresSession() {
  tell_statistics();
  ended_(this);
}

void PostgresSession::tell_statistics() {
  constexpr int since = 150000;
  try {
    if (connection_.server_version() >= since) (void)connection_.ask("SELECT pg_stat_force_next_flush()");
  } catch (const LostServer&) {
    // The next operation detects a failure.
  }
}

void PostgresSession::connect(std::uint64_t time_limit_ms) {
  prepared_.clear();
  connection_.connect(time_limit_ms);
}

// Returns nullptr if it cannot be prepared, and sets the error.
template <typename Named, typename Sql>
const std::string* PostgresSession::statement(char kind, std::span<const Named> named, std::string_view key, Sql sql) {
  const auto found = std::ranges::find_if(prepared_, [&](const Prepared& each) {
    return each.kind == kind && std::ranges::equal(each.names, named, {}, {}, [](const Named& n) { return name(n); });
  });
  if (found != prepared_.end()) return &found->statement;
  const auto id = fmt::format("edgejoule_{}", prepared_.size());
  const auto result = connection_.prepare(id, sql());
  if (!is_ok(result.get())) {
    (void)failed("prepare", key, result.get());
    return nullptr;
  }
  std::vector<std::string> names;
  for (const auto& each : named) names.emplace_back(name(each));
  prepared_.push_back({kind, std::move(names), id});
  return &prepared_.back().statement;
}

Status PostgresSession::failed(std::string_view operation, std::string_view key, const PGresult* result) {
  const char* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state = code == nullptr ? "" : code;
  error_ =
      fmt::format("PostgreSQL at {}: {} of key {}: {}", settings_.server.address(), operation, key, message_of(result));
  if (state == "23505") error_ += "; has an earlier run or load inserted it?";
  if (state == "22021") error_ += "; values of any bytes need fieldtype=blob at load and run";
  // Serialisation failure, deadlock, lock and query time-outs: the server asks for a retry.
  return state == "40001" || state == "40P01" || state == "55P03" || state == "57014" ? Status::busy : Status::error;
}

void PostgresSession::bind_key(std::string_view key) {
  if (settings_.key_type == PostgresKeyType::integer) return parameters_.add_text(std::string(key));
  parameters_.add_bytes(key);
}

std::string_view PostgresSession::name_of(FieldNames names, std::size_t index) const {
  return names.empty() ? std::string_view(settings_.field_names[index]) : names[index];
}

std::size_t PostgresSession::count_of(FieldNames names) const {
  return names.empty() ? settings_.field_names.size() : names.size();
}

std::string PostgresSession::columns(FieldNames names) const {
  std::string text;
  for (std::size_t index = 0; index < count_of(names); ++index) {
    text += fmt::format("{}{}", index > 0 ? "," : "", postgres_column(name_of(names, index)));
  }
  return text;
}

Status PostgresSession::take_fields(const PGresult* result, int row, int first, std::string_view key, FieldNames names,
                                    std::vector<Field>& fields) {
  fields.resize(count_of(names));
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const int column = first + static_cast<int>(index);
    if (PQgetisnull(result, row, column) != 0) {
      error_ = fmt::format("PostgreSQL at {}: row of key {} lacks a requested field", settings_.server.address(), key);
      return Status::unexpected_state;
    }
    fields[index] = {name_of(names, index), text_at(result, row, column)};
  }
  return Status::ok;
}

Status PostgresSession::read(std::string_view key, FieldNames names, Row& row) {
  return guarded("read", key, [&] {
    const auto* id = statement('r', names, key, [&] {
      return fmt::format("SELECT {} FROM {} WHERE ycsb_key=$1", columns(names), settings_.table);
    });
    if (id == nullptr) return Status::error;
    parameters_.clear();
    bind_key(key);
    result_ = connection_.run(*id, parameters_);
    if (!is_ok(result_.get())) return failed("read", key, result_.get());
    if (PQntuples(result_.get()) == 0) return Status::not_found;
    return take_fields(result_.get(), 0, 0, key, names, row.fields);
  });
}

Status PostgresSession::scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) {
  constexpr auto limit_max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return guarded("scan", start, [&] {
    const auto* id = statement('s', names, start, [&] {
      const bool integer = settings_.key_type == PostgresKeyType::integer;
      return fmt::format("SELECT ycsb_key{},{} FROM {} WHERE ycsb_key>=$1 ORDER BY {}.ycsb_key LIMIT $2",
                         integer ? "::text" : "", columns(names), settings_.table, settings_.table);
    });
    if (id == nullptr) return Status::error;
    parameters_.clear();
    bind_key(start);
    parameters_.add_text(std::to_string(std::min(count, limit_max)));
    result_ = connection_.run(*id, parameters_);
    if (!is_ok(result_.get())) return failed("scan", start, result_.get());
    rows.resize(static_cast<std::size_t>(PQntuples(result_.get())));
    for (std::size_t index = 0; index < rows.size(); ++index) {
      auto& row = rows[index];
      row.key = text_at(result_.get(), static_cast<int>(index), 0);
      const auto status = take_fields(result_.get(), static_cast<int>(index), 1, row.key, names, row.fields);
      if (status != Status::ok) return status;
    }
    return Status::ok;
  });
}

std::string PostgresSession::insert_sql(Fields fields, bool replaces) const {
  std::string names = "ycsb_key";
  std::string marks = "$1";
  for (std::size_t index = 0; index < fields.size(); ++index) {
    names += fmt::format(",{}", postgres_column(fields[index].name));
    marks += fmt::format(",${}", index + 2);
  }
  auto sql = fmt::format("INSERT INTO {} ({}) VALUES ({})", settings_.table, names, marks);
  if (!replaces) return sql;
  std::string changes;  // columns that are not given become NULL, as the inserted row has them
  for (const auto& field : settings_.field_names) {
    const auto column = postgres_column(field);
    changes += fmt::format("{}{}=EXCLUDED.{}", changes.empty() ? "" : ",", column, column);
  }
  return sql + " ON CONFLICT (ycsb_key) DO UPDATE SET " + changes;
}

// kind: 'u' update, 'i' insert, 'p' upsert.
Status PostgresSession::write(char kind, std::string_view operation, std::string_view key, Fields fields) {
  const auto* id = statement(kind, fields, key, [&] {
    if (kind != 'u') return insert_sql(fields, kind == 'p');
    std::string changes;
    for (std::size_t index = 0; index < fields.size(); ++index) {
      changes += fmt::format("{}{}=${}", index > 0 ? "," : "", postgres_column(fields[index].name), index + 2);
    }
    return fmt::format("UPDATE {} SET {} WHERE ycsb_key=$1", settings_.table, changes);
  });
  if (id == nullptr) return Status::error;
  parameters_.clear();
  bind_key(key);
  for (const auto& field : fields) parameters_.add_bytes(field.value);
  const auto result = connection_.run(*id, parameters_);
  if (!is_ok(result.get())) return failed(operation, key, result.get());
  return std::string_view(PQcmdTuples(result.get())) == "0" ? Status::not_found : Status::ok;
}

Status PostgresSession::update(std::string_view key, Fields fields) {
  return guarded("update", key, [&] { return write('u', "update", key, fields); });
}

Status PostgresSession::insert(std::string_view key, Fields fields) {
  return guarded("insert", key, [&] { return write('i', "insert", key, fields); });
}

Status PostgresSession::upsert(std::string_view key, Fields fields) {
  return guarded("upsert", key, [&] { return write('p', "upsert", key, fields); });
}

Status PostgresSession::remove(std::string_view key) {
  return guarded("remove", key, [&] {
    const auto* id = statement('d', FieldNames{}, key,
                               [&] { return fmt::format("DELETE FROM {} WHERE ycsb_key=$1", settings_.table); });
    if (id == nullptr) return Status::error;
    parameters_.clear();
    bind_key(key);
    const auto result = connection_.run(*id, parameters_);
    if (!is_ok(result.get())) return failed("remove", key, result.get());
    return std::string_view(PQcmdTuples(result.get())) == "0" ? Status::not_found : Status::ok;
  });
}

// Uses the binary form of COPY: a header, then for each row the number of its columns, and for each column its length
// and bytes.
Status PostgresSession::copy(std::span<const Record> records) {
  constexpr std::string_view signature("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
  copied_ = signature;
  for (const auto& record : records) {
    append_big_endian(copied_, static_cast<std::uint16_t>(record.fields.size() + 1));
    if (settings_.key_type == PostgresKeyType::integer) {
      std::int64_t number = 0;
      const auto [end, failure] = std::from_chars(record.key.data(), record.key.data() + record.key.size(), number);
      if (failure != std::errc{} || end != record.key.data() + record.key.size()) {
        error_ = fmt::format("PostgreSQL: key \"{}\": the table's keys are integers; expected digits", record.key);
        return Status::error;
      }
      append_big_endian(copied_, std::uint32_t{sizeof number});
      append_big_endian(copied_, static_cast<std::uint64_t>(number));
    } else {
      append_value(copied_, record.key);
    }
    for (const auto& field : record.fields) append_value(copied_, field.value);
  }
  append_big_endian(copied_, std::uint16_t{0xFFFF});
  std::string names = "ycsb_key";
  for (const auto& field : records.front().fields) names += fmt::format(",{}", postgres_column(field.name));
  const auto result =
      connection_.copy_in(fmt::format("COPY {} ({}) FROM STDIN WITH (FORMAT binary)", settings_.table, names), copied_);
  return is_ok(result.get()) ? Status::ok : failed("COPY of a batch from", records.front().key, result.get());
}

Status PostgresSession::control(const char* sql) {
  const auto result = connection_.ask(sql);
  return is_ok(result.get()) ? Status::ok : failed(sql, "a batch", result.get());
}

Status PostgresSession::transact(char kind, std::span<const Record> records) {
  auto status = control("BEGIN");
  if (status != Status::ok) return status;
  for (const auto& record : records) {
    status = write(kind, "batch", record.key, record.fields);
    if (status != Status::ok) break;
  }
  if (status == Status::ok) return control("COMMIT");
  const auto cause = error_;
  const auto undone = control("ROLLBACK");
  error_ = undone == Status::ok ? cause : cause + "; " + error_;
  return status;
}

Status PostgresSession::insert_batch(std::span<const Record> records) {
  if (records.empty()) return Status::ok;
  return guarded("batch", records.front().key, [&] {
    return settings_.copies && one_set_of_fields(records) ? copy(records) : transact('i', records);
  });
}

Status PostgresSession::upsert_batch(std::span<const Record> records) {
  if (records.empty()) return Status::ok;
  return guarded("batch", records.front().key, [&] { return transact('p', records); });
}

}  // namespace edgejoule::driver
