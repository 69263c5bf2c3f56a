// The benchmarks by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace edgejoule::driver {

struct SqliteBenchmark {
  enum class Deed : std::uint8_t { fill, overwrite, read };

  std::string_view name;
  Deed deed;
  bool sequential;
  bool synchronous;             // durability class power, else none
  std::uint64_t batch_records;  // rows in a transaction
  std::uint64_t divisor;        // of the number of rows, and of reads
  std::uint64_t value_bytes;    // 0: as the user says
};

// In the order in which the originals run them.
[[nodiscard]] const std::vector<SqliteBenchmark>& sqlite_benchmarks();

}  // namespace edgejoule::driver
