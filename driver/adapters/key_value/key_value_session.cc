#include "key_value_session.h"

#include <fmt/format.h>

#include "row_codec.h"

namespace edgejoule::driver {

Status KeyValueSession::decode(std::string_view key, std::string_view value, FieldNames names,
                               std::vector<Field>& fields) {
  if (decode_row(value, names, fields)) return Status::ok;
  set_error(fmt::format("row of key {}: {} bytes that are no row, or lack a requested field", key, value.size()));
  return Status::unexpected_state;
}

Status KeyValueSession::read(std::string_view key, FieldNames names, Row& row) {
  std::string_view value;
  const Status status = fetch(key, value);
  if (status != Status::ok) return status;
  return decode(key, value, names, row.fields);
}

Status KeyValueSession::scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) {
  entries_.clear();
  const Status status = collect(start, count, entries_);
  if (status != Status::ok) return status;
  rows.resize(entries_.size() / 2);
  for (std::size_t index = 0; index < rows.size(); ++index) {
    rows[index].key = entries_[2 * index];
    const Status decoded = decode(rows[index].key, entries_[2 * index + 1], names, rows[index].fields);
    if (decoded != Status::ok) return decoded;
  }
  return Status::ok;
}

Status KeyValueSession::update(std::string_view key, Fields fields) {
  const auto lock = locks_.hold(key);
  std::string_view old_value;
  ++reads_before_write_;
  const Status status = fetch(key, old_value);
  if (status != Status::ok) return status;
  if (is_raw(fields)) return put(key, fields.front().value);
  const Status decoded = decode(key, old_value, {}, old_fields_);
  if (decoded != Status::ok) return decoded;
  change_fields(old_fields_, fields);
  encode_row(old_fields_, encoded_);
  return put(key, encoded_);
}

Status KeyValueSession::insert(std::string_view key, Fields fields) {
  const auto stored = stored_row(fields, encoded_);
  const auto lock = locks_.hold(key);
  return put(key, stored);
}

Status KeyValueSession::insert_batch(std::span<const Record> records) {
  if (records.empty()) return Status::ok;
  clear_batch();
  for (const Record& record : records) {
    add_to_batch(record.key, stored_row(record.fields, encoded_));
  }
  return write_batch(records.front().key);
}

Status KeyValueSession::remove(std::string_view key) {
  const auto lock = locks_.hold(key);
  return erase(key);
}

}  // namespace edgejoule::driver
