// The command verify-durability: tests the promises of settings by power cuts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/adapter.h"
#include "contract/properties.h"

namespace CLI {
class App;
}

namespace edgejoule::driver {

// Options that only this command has.
struct DurabilityTestOptions {
  std::uint64_t cuts = 100;
  std::uint64_t operations = 2000;
  std::string file_system = "ext4";
  std::string mount_options;
  std::optional<std::uint64_t> disk_mib;
  std::vector<std::string> vary;
  std::optional<std::string> expect;
  std::optional<std::uint64_t> cut;
  bool device_ignores_flushes = false;
};

void add_durability_test_options(CLI::App& command, DurabilityTestOptions& options);

[[nodiscard]] const char* durability_test_examples();

struct DurabilityTest {
  const AdapterInfo* adapter;
  Properties properties;
  Durability durability;
  unsigned threads;
  std::uint64_t seed;
  bool seed_drawn;                  // then printed before the test begins
  std::optional<std::string> json;  // file, or "-" for standard output, which then does not get the table
  bool quiet;
};

// Exit status 0: every promise is kept; 3: at least one is not. Throws UsageError and RunFailure.
[[nodiscard]] int verify_durability(const DurabilityTest& test, const DurabilityTestOptions& options);

}  // namespace edgejoule::driver
