// A client thread's session on the volume. It holds the row that was read last.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "adapters/scan_buffer.h"
#include "volume.h"

namespace edgejoule::driver {

class LunarSession final : public Session {
 public:
  // Both must outlive the session.
  LunarSession(const LunarSettings& settings, LunarVolume& volume);

  Status read(std::string_view key, FieldNames names, Row& row) override;
  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) override;
  Status update(std::string_view key, Fields fields) override;
  Status insert(std::string_view key, Fields fields) override;
  Status upsert(std::string_view key, Fields fields) override;
  Status insert_batch(std::span<const Record> records) override { return write_batch(records, &LunarSession::add); }
  Status upsert_batch(std::span<const Record> records) override { return write_batch(records, &LunarSession::put); }
  Status remove(std::string_view key) override;
  [[nodiscard]] std::string error() const override { return error_; }

 private:
  using Values = std::array<lunar_value, LUNAR_COLUMNS_MAX>;
  // Writes one record. Returns a negative enum lunar_error on failure. The caller holds the mutex; a transaction may be
  // open.
  using Write = int (LunarSession::*)(const lunar_value& key, Fields fields);

  [[nodiscard]] bool take_key(std::string_view text, lunar_value& key);
  [[nodiscard]] std::size_t column_of(std::string_view name, std::size_t guess) const;  // 0: no such column
  [[nodiscard]] int row_of(const lunar_value& key, Fields fields, Values& values);
  [[nodiscard]] int add(const lunar_value& key, Fields fields);
  [[nodiscard]] int put(const lunar_value& key, Fields fields);
  [[nodiscard]] int change(const lunar_value& key, Fields fields);
  template <typename Work>
  [[nodiscard]] int in_transaction(Work work);
  Status write(std::string_view operation, std::string_view key, Write one, Fields fields, bool takes_several);
  Status write_batch(std::span<const Record> records, Write one);
  [[nodiscard]] int write_all(std::span<const Record> records, Write one, std::string_view& failed_key);
  Status write_part(std::span<const Record> records, Write one);
  bool copy_row(const Values& values, FieldNames names);
  int handed_over(int code);
  Status outcome(int code, std::string_view operation, std::string_view key);
  Status missing_field(std::string_view key);

  const LunarSettings& settings_;
  LunarVolume& volume_;
  std::vector<char> bytes_;  // of the row read last
  ScanBuffer values_;
  std::size_t batch_records_max_;  // observed capacity of one transaction
  std::string error_;
};

}  // namespace edgejoule::driver
