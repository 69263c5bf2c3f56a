// The results of a test, as a table and as JSON.
#pragma once

#include <string>
#include <vector>

#include "examination.h"
#include "test_settings.h"
#include "verdict.h"

namespace edgejoule::driver {

struct SettingReport {
  std::string name;
  Durability durability = Durability::process;
  Durability promise = Durability::process;
  std::string version;
  std::string durability_how;
  std::uint64_t trace_writes = 0;
  std::uint64_t trace_flushes = 0;
  std::uint64_t trace_bytes = 0;
  std::vector<CutOutcome> outcomes = {};
};

struct DurabilityReport {
  std::string database;
  TestDisk disk;
  StreamShape stream;
  Flushes flushes = Flushes::honoured;
  std::string small_buffers;  // the buffer sizes that the test set
  std::vector<SettingReport> settings;
};

// One line for each setting. For a broken promise, also the cut that shows it best.
[[nodiscard]] std::string as_table(const DurabilityReport& report);

// One JSON object. docs/how-to/durability.md describes the fields.
[[nodiscard]] std::string as_json(const DurabilityReport& report);

[[nodiscard]] bool all_kept(const DurabilityReport& report);

}  // namespace edgejoule::driver
