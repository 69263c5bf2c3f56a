// The writes of a test, drawn from a seed before it begins: inserts, updates and removes of single rows.
//
// Each write of a key makes the next version of it: 1, 2, ... A row's content tells its key and version, so that what
// is found after a cut is known for what it is, or for something that was never written. Operation i belongs to thread
// i % threads, and no key has two threads: the versions of a key are written one after another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

struct WriteOperation {
  enum class Kind : std::uint8_t { insert, update, remove };
  Kind kind;
  std::uint32_t key;
  std::uint32_t version;  // after this operation; the first of a key is 1
};

// Half inserts, 35 % updates, 15 % removes once there are rows; a removed key may be inserted again.
[[nodiscard]] std::vector<WriteOperation> operation_stream(std::uint64_t operations, unsigned threads,
                                                           std::uint64_t seed);

// Number of different keys.
[[nodiscard]] std::uint32_t key_count(const std::vector<WriteOperation>& operations);

// user0000000001: of equal length, so that their order is that of their numbers.
[[nodiscard]] std::string stream_key(std::uint32_t key);

class RowContent {
 public:
  RowContent(std::vector<std::string> field_names, std::uint64_t field_bytes, std::uint64_t seed);

  // Valid until the next call. Fields shorter than their stamp are not cut.
  [[nodiscard]] Fields row(std::uint32_t key, std::uint32_t version);

  // The version of the key that this row is, whole; nullopt: no version of it ever looked like this.
  [[nodiscard]] std::optional<std::uint32_t> version_of(std::uint32_t key, const Row& row);

 private:
  std::vector<std::string> names_;
  std::uint64_t field_bytes_;
  std::uint64_t seed_;
  std::vector<std::string> values_;
  std::vector<Field> fields_;
};

}  // namespace edgejoule::driver
