// The arguments of the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/properties.h"
#include "run/work.h"

namespace CLI {
class App;
}

namespace edgejoule::driver {

// The arguments as given, not yet checked against the adapters and each other.
struct Arguments {
  Command command = Command::run;
  std::vector<std::string> files;
  std::vector<std::string> assignments;
  std::optional<std::string> database;
  std::optional<std::string> threads;
  std::optional<std::string> target;
  std::optional<std::string> rate;
  std::optional<std::string> durability;
  std::optional<std::string> failure_share_max;
  std::optional<std::uint64_t> seed;
  std::optional<std::string> record;
  std::optional<std::string> json;
  std::optional<std::string> label;
  bool drop_caches = false;
  double quiet_before_s = 0;
  double quiet_after_s = 0;
  bool in_step = false;
  double warmup_s = 0;
  std::uint64_t interval_ms = 1000;
  double settle_timeout_s = 600;
  double driver_share_max = 0.25;
  bool driver_share = false;
  std::optional<std::string> parent;
  bool status_lines = false;
  bool quiet = false;
};

// Adds the options of load and run. Parsing writes into `arguments`.
void add_options(CLI::App& command, Arguments& arguments);

// Adds the options of verify-durability. Parsing writes into `arguments`.
void add_verify_options(CLI::App& command, Arguments& arguments);

// Converts the command line to CLI11's form: YCSB's long options get a second dash, and its -load and -t become
// commands. Throws UsageError if one of them contradicts the command.
[[nodiscard]] std::vector<std::string> normalised(int argc, const char* const* argv);

// Properties of the files and the command line; the command line wins. Throws UsageError.
[[nodiscard]] Properties gathered(const Arguments& arguments);

}  // namespace edgejoule::driver
