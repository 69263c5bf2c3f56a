// YCSB's core workload: its settings, read from properties and checked.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "contract/properties.h"
#include "key_chooser.h"
#include "length_chooser.h"
#include "run/workload.h"

namespace edgejoule::driver {

enum class Transaction : std::uint8_t { read, update, insert, scan, read_modify_write };
inline constexpr std::size_t transaction_kinds = 5;

class CoreWorkload final : public Workload {
 public:
  // Throws UsageError if a value is malformed, out of range or contradicts another.
  CoreWorkload(const Properties& properties, Command command);

  Command command;
  std::uint64_t records;  // in the database at the start of a run
  std::uint64_t insert_start;
  std::uint64_t insert_count;
  std::array<double, transaction_kinds> proportions;  // by Transaction; they need not add up to 1
  KeyRequests requests;
  bool hashed_keys;
  std::uint64_t zero_padding;
  bool integer_keys;
  std::vector<std::string> fields;
  Length field_bytes;
  Length scan_records;
  bool read_all_fields;
  bool write_all_fields;
  std::uint64_t batch_records;     // load: records per insert_batch
  std::uint64_t insert_retries;    // load: after an insert that failed
  double insert_retry_interval_s;  // mean

  // verify: values derive from key and field, and rows read are checked.
  [[nodiscard]] std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const override;

 private:
  class Reader;
  void read_keys(Reader& reader, const Properties& properties);
  void read_mix(Reader& reader);
  void read_requests(Reader& reader, const Properties& properties);
  void read_hotspot(Reader& reader, const Properties& properties);
  [[nodiscard]] double share(Transaction kind) const { return proportions[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::uint64_t reserved_keys() const;
  void read_fields(Reader& reader);
  void read_lengths(Reader& reader, const Properties& properties);
  void read_field_histogram(Reader& reader, const Properties& properties);
};

}  // namespace edgejoule::driver
