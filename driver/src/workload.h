// What a YCSB core workload asks for, read from properties and checked.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "properties.h"

namespace edgejoule::driver {

enum class Command : std::uint8_t { load, run };
enum class KeyLaw : std::uint8_t { uniform, zipfian, latest };
enum class LengthLaw : std::uint8_t { constant, uniform, zipfian };

// Lengths from least to most, both included.
struct Length {
  LengthLaw law;
  std::uint64_t least;
  std::uint64_t most;
};

enum class Transaction : std::uint8_t { read, update, insert, scan, read_modify_write };
inline constexpr std::size_t transaction_kinds = 5;

struct Workload {
  std::uint64_t records;     // in the database when a run starts
  std::uint64_t operations;  // of this command; 0: until the time is over
  std::uint64_t insert_start;
  std::uint64_t insert_count;
  std::uint64_t seconds_max;                          // 0: no limit
  std::array<double, transaction_kinds> proportions;  // by Transaction; they need not add up to 1
  KeyLaw key_law;
  bool hashed_keys;
  std::uint64_t zero_padding;
  std::vector<std::string> fields;
  Length field_bytes;
  Length scan_records;
  bool read_all_fields;
  bool write_all_fields;
  bool verify;                                  // values follow from key and field, and rows that are read are checked
  std::uint64_t batch_records;                  // load: records per insert_batch
  std::map<std::string, std::string> in_force;  // every property of the workload, defaults included

  // Keys a run may add, as YCSB estimates them (twice the expected number).
  [[nodiscard]] std::uint64_t expected_new_keys() const;
};

// Throws UsageError when a value is malformed, out of range or contradicts another.
[[nodiscard]] Workload workload_from(const Properties& properties, Command command);

}  // namespace edgejoule::driver
