// YCSB's core workload: what it asks for, read from properties and checked.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "properties.h"
#include "workload.h"

namespace edgejoule::driver {

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

class CoreWorkload final : public Workload {
 public:
  // Throws UsageError when a value is malformed, out of range or contradicts another.
  CoreWorkload(const Properties& properties, Command command);

  Command command;
  std::uint64_t records;  // in the database when a run starts
  std::uint64_t insert_start;
  std::uint64_t insert_count;
  std::array<double, transaction_kinds> proportions;  // by Transaction; they need not add up to 1
  KeyLaw key_law;
  bool hashed_keys;
  std::uint64_t zero_padding;
  std::vector<std::string> fields;
  Length field_bytes;
  Length scan_records;
  bool read_all_fields;
  bool write_all_fields;
  std::uint64_t batch_records;  // load: records per insert_batch

  // verify: values follow from key and field, and rows that are read are checked.
  [[nodiscard]] std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const override;

  // Keys a run may add, as YCSB estimates them (twice the expected number).
  [[nodiscard]] std::uint64_t expected_new_keys() const;

 private:
  class Reader;
  void read_keys(Reader& reader, const Properties& properties);
  void read_mix(Reader& reader);
  void read_fields(Reader& reader);
  void read_lengths(Reader& reader, const Properties& properties);
};

}  // namespace edgejoule::driver
