// A batch of records with one field each, for one call of the database.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "contract/adapter.h"
#include "system/cache_lines.h"

namespace edgejoule::driver {

class RecordBatch {
 public:
  explicit RecordBatch(std::size_t capacity) : keys_(capacity), fields_(capacity), records_(capacity) {}

  static constexpr std::string_view field_name = "field0";

  // Copies the key. The value must live until the batch is written. At most `capacity` records.
  void add(std::string_view key, std::string_view value) {
    keys_[size_].assign(key);
    fields_[size_] = {field_name, value};
    records_[size_] = {keys_[size_], Fields(&fields_[size_], 1)};
    payload_bytes_ += value.size();
    ++size_;
  }

  void clear() {
    size_ = 0;
    payload_bytes_ = 0;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return records_.size(); }
  [[nodiscard]] std::uint64_t payload_bytes() const { return payload_bytes_; }
  [[nodiscard]] std::span<const Record> records() const { return std::span(records_).first(size_); }

 private:
  CacheLineVector<std::string> keys_;
  CacheLineVector<Field> fields_;
  CacheLineVector<Record> records_;
  std::size_t size_ = 0;
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace edgejoule::driver
