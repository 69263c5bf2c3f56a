// The writes of a test, drawn from a seed before it begins: inserts, updates and removes of single rows.
//
// Each write of a key makes its next version: 1, 2, ... A row contains its key and version, so that a row read after a
// cut can be identified, or recognised as never written. Operation i belongs to thread i % threads, and each key
// belongs to one thread, so that its versions are written in order.
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
  std::uint32_t version;  // after this operation; the first version of a key is 1
};

// Half inserts, 35 % updates, 15 % removes once there are rows. A removed key may be inserted later.
[[nodiscard]] std::vector<WriteOperation> operation_stream(std::uint64_t operations, unsigned threads,
                                                           std::uint64_t seed);

// Number of different keys.
[[nodiscard]] std::uint32_t key_count(const std::vector<WriteOperation>& operations);

// "user0000000001": keys of equal length sort by their numbers.
[[nodiscard]] std::string stream_key(std::uint32_t key);

class RowContent {
 public:
  RowContent(std::vector<std::string> field_names, std::uint64_t field_bytes, std::uint64_t seed);

  // The fields are valid until the next call. A field shorter than its stamp is not cut.
  [[nodiscard]] Fields row(std::uint32_t key, std::uint32_t version);

  // The version of the key that equals the complete row; nullopt: no version does.
  [[nodiscard]] std::optional<std::uint32_t> version_of(std::uint32_t key, const Row& row);

 private:
  std::vector<std::string> names_;
  std::uint64_t field_bytes_;
  std::uint64_t seed_;
  std::vector<std::string> values_;
  std::vector<Field> fields_;
};

}  // namespace edgejoule::driver
