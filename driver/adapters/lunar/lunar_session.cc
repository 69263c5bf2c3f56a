#include "lunar_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace edgejoule::driver {
namespace {

constexpr std::size_t row_bytes_max = 65536;  // a row lies in one block

std::string_view view(const lunar_value& value) { return {static_cast<const char*>(value.as.data), value.bytes}; }

bool is_bytes(const lunar_value& value) { return value.type == LUNAR_TEXT || value.type == LUNAR_BLOB; }

void set_bytes(lunar_value& value, std::uint8_t type, std::string_view bytes) {
  value.type = type;
  value.bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), std::numeric_limits<std::uint32_t>::max()));
  value.as.data = bytes.data();
}

void append_key(ScanBuffer& buffer, const lunar_value& key) {
  if (is_bytes(key)) return buffer.append(view(key));
  std::array<char, std::numeric_limits<std::int64_t>::digits10 + 2> digits;
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), key.as.integer);
  buffer.append({digits.data(), static_cast<std::size_t>(written.ptr - digits.data())});
}

}  // namespace

LunarSession::LunarSession(const LunarSettings& settings, LunarVolume& volume)
    : settings_(settings),
      volume_(volume),
      bytes_(row_bytes_max),
      batch_records_max_(std::numeric_limits<std::size_t>::max()) {}

// Returns false for a key that the table cannot store, and sets the error.
bool LunarSession::take_key(std::string_view text, lunar_value& key) {
  if (settings_.key_type != LUNAR_INT64) {
    set_bytes(key, settings_.key_type, text);
    return true;
  }
  key.type = LUNAR_INT64;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), key.as.integer);
  if (failure == std::errc{} && end == text.data() + text.size()) return true;
  error_ = fmt::format("lunar: key \"{}\": the table's keys are integers; expected digits", text);
  return false;
}

// Workloads usually name all fields in the table's order, so `guess` is right except for parts of a row.
std::size_t LunarSession::column_of(std::string_view name, std::size_t guess) const {
  const auto& names = settings_.field_names;
  if (guess < names.size() && names[guess] == name) return guess + 1;
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? 0 : static_cast<std::size_t>(found - names.begin()) + 1;
}

int LunarSession::row_of(const lunar_value& key, Fields fields, Values& values) {
  values.fill({});
  values[0] = key;
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const auto column = column_of(fields[index].name, index);
    if (column == 0) return LUNAR_E_INVALID;
    set_bytes(values[column], settings_.field_type, fields[index].value);
  }
  return LUNAR_OK;
}

int LunarSession::add(const lunar_value& key, Fields fields) {
  Values values;
  if (const int code = row_of(key, fields, values)) return code;
  return lunar_insert(&volume_.table(), values.data());
}

int LunarSession::change(const lunar_value& key, Fields fields) {
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const auto column = column_of(fields[index].name, index);
    if (column == 0) return LUNAR_E_INVALID;
    lunar_value value{};
    set_bytes(value, settings_.field_type, fields[index].value);
    const int code = lunar_update(&volume_.table(), &key, static_cast<std::uint8_t>(column), &value);
    if (code != LUNAR_OK) return code;
  }
  return LUNAR_OK;
}

int LunarSession::put(const lunar_value& key, Fields fields) {
  Values values;
  if (const int code = row_of(key, fields, values)) return code;
  const int code = lunar_insert(&volume_.table(), values.data());
  if (code != LUNAR_E_EXISTS) return code;
  for (std::size_t column = 1; column <= settings_.field_names.size(); ++column) {
    const int changed = lunar_update(&volume_.table(), &key, static_cast<std::uint8_t>(column), &values[column]);
    if (changed != LUNAR_OK) return changed;
  }
  return LUNAR_OK;
}

// Runs the work atomically. Mode none has no transactions.
template <typename Work>
int LunarSession::in_transaction(Work work) {
  if (settings_.mode == LUNAR_MODE_NONE) return work();
  if (const int code = lunar_begin(&volume_.handle())) return code;
  const int code = work();
  if (code == LUNAR_OK) return lunar_commit(&volume_.handle());
  const int undone = lunar_rollback(&volume_.handle());
  return undone == LUNAR_OK ? code : undone;
}

// The caller holds the mutex.
int LunarSession::handed_over(int code) { return code == LUNAR_OK ? volume_.hand_over() : code; }

Status LunarSession::outcome(int code, std::string_view operation, std::string_view key) {
  if (code == LUNAR_OK) return Status::ok;
  if (code == LUNAR_E_NOT_FOUND) return Status::not_found;
  error_ = fmt::format("{} of key {}: {}", operation, key, volume_.error(code));
  return Status::error;
}

Status LunarSession::missing_field(std::string_view key) {
  error_ = fmt::format("lunar: {}: row of key {} lacks a requested field", settings_.file, key);
  return Status::unexpected_state;
}

Status LunarSession::read(std::string_view key, FieldNames names, Row& row) {
  lunar_value wanted{};
  if (!take_key(key, wanted)) return Status::error;
  Values values;
  {
    const std::lock_guard lock(volume_.mutex());
    const int code = lunar_get(&volume_.table(), &wanted, bytes_.data(), bytes_.size(), values.data());
    if (code != LUNAR_OK) return outcome(code, "read", key);
  }
  const std::size_t count = names.empty() ? settings_.field_names.size() : names.size();
  row.fields.resize(count);
  for (std::size_t index = 0; index < count; ++index) {
    const std::string_view name = names.empty() ? std::string_view(settings_.field_names[index]) : names[index];
    const auto column = column_of(name, index);
    if (column == 0 || !is_bytes(values[column])) return missing_field(key);
    row.fields[index] = {name, view(values[column])};
  }
  return Status::ok;
}

// Copies key and fields of a cursor's row. Returns false if it lacks a field.
bool LunarSession::copy_row(const Values& values, FieldNames names) {
  append_key(values_, values[0]);
  const std::size_t count = names.empty() ? settings_.field_names.size() : names.size();
  for (std::size_t index = 0; index < count; ++index) {
    const auto column = names.empty() ? index + 1 : column_of(names[index], index);
    if (column == 0 || !is_bytes(values[column])) return false;
    values_.append(view(values[column]));
  }
  return true;
}

Status LunarSession::scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) {
  lunar_value from{};
  if (!take_key(start, from)) return Status::error;
  if (volume_.index() != LUNAR_INDEX_TREE) {
    error_ = fmt::format("lunar: {}: a table with a hash index has no order to scan; load again with lunar.index=tree",
                         settings_.file);
    return Status::error;
  }
  values_.clear();
  const std::size_t fields = names.empty() ? settings_.field_names.size() : names.size();
  {
    const std::lock_guard lock(volume_.mutex());
    lunar_cursor cursor{};
    int code = lunar_cursor_open(&cursor, &volume_.table(), &from, nullptr, 0);
    for (std::uint64_t found = 0; code == LUNAR_OK && found < count; ++found) {
      Values values;
      code = lunar_cursor_next(&cursor, bytes_.data(), bytes_.size(), values.data());
      if (code != LUNAR_OK) break;
      const std::size_t begin = values_.size();
      if (!copy_row(values, names)) return missing_field(values_[begin]);
    }
    if (code != LUNAR_OK && code != LUNAR_E_NOT_FOUND) return outcome(code, "scan", start);
  }
  rows.resize(values_.size() / (fields + 1));
  std::size_t next = 0;
  for (Row& row : rows) {
    row.key = values_[next++];
    row.fields.resize(fields);
    for (std::size_t index = 0; index < fields; ++index) {
      row.fields[index] = {names.empty() ? std::string_view(settings_.field_names[index]) : names[index],
                           values_[next++]};
    }
  }
  return Status::ok;
}

Status LunarSession::write(std::string_view operation, std::string_view key, Write one, Fields fields,
                           bool takes_several) {
  lunar_value name{};
  if (!take_key(key, name)) return Status::error;
  const std::lock_guard lock(volume_.mutex());
  const auto work = [&] { return (this->*one)(name, fields); };
  return outcome(handed_over(takes_several ? in_transaction(work) : work()), operation, key);
}

Status LunarSession::update(std::string_view key, Fields fields) {
  return write("update", key, &LunarSession::change, fields, fields.size() > 1);
}

Status LunarSession::insert(std::string_view key, Fields fields) {
  return write("insert", key, &LunarSession::add, fields, false);
}

Status LunarSession::upsert(std::string_view key, Fields fields) {
  return write("upsert", key, &LunarSession::put, fields, fields.size() > 1);
}

Status LunarSession::remove(std::string_view key) {
  lunar_value name{};
  if (!take_key(key, name)) return Status::error;
  const std::lock_guard lock(volume_.mutex());
  return outcome(handed_over(lunar_remove(&volume_.table(), &name)), "remove", key);
}

// The caller holds the mutex.
int LunarSession::write_all(std::span<const Record> records, Write one, std::string_view& failed_key) {
  for (const Record& record : records) {
    failed_key = record.key;
    lunar_value key{};
    if (!take_key(record.key, key)) return LUNAR_E_INVALID;
    if (const int code = (this->*one)(key, record.fields)) return code;
  }
  return LUNAR_OK;
}

// Writes the records in one transaction, or in two halves if it cannot hold them all.
Status LunarSession::write_part(std::span<const Record> records, Write one) {
  std::string_view key;
  int code = LUNAR_OK;
  {
    const std::lock_guard lock(volume_.mutex());
    code = handed_over(in_transaction([&] { return write_all(records, one, key); }));
    if (code != LUNAR_E_TXN_FULL || records.size() == 1) return outcome(code, "batch", key);
  }
  batch_records_max_ = records.size() / 2;
  return write_batch(records, one);
}

Status LunarSession::write_batch(std::span<const Record> records, Write one) {
  Status status = Status::ok;
  while (status == Status::ok && !records.empty()) {
    const auto part = records.first(std::min(records.size(), batch_records_max_));
    records = records.subspan(part.size());
    status = write_part(part, one);
  }
  return status;
}

}  // namespace edgejoule::driver
