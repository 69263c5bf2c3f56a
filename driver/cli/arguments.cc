#include "arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "system/number_option.h"
#include "system/usage_error.h"
#include "workload_files.h"

namespace edgejoule::driver {
namespace {

constexpr auto seed_max = std::numeric_limits<std::uint64_t>::max();

// YCSB's client has no command but the option -load or -t (the default). Beside a command, the option must agree with
// it. CLI11 would read -load as -l with the label "oad".
void obey_commands_of_ycsb(std::vector<std::string>& arguments) {
  for (const std::string command : {"load", "run"}) {
    const std::string option = command == "load" ? "-load" : "-t";
    if (std::erase(arguments, option) == 0) continue;
    if (arguments.empty() || arguments.front().starts_with('-')) arguments.insert(arguments.begin(), command);
    if (arguments.front() != command) {
      throw UsageError(
          fmt::format("{}: contradicts the command {}; expected the command {}", option, arguments.front(), command));
    }
  }
}

void set_if_given(Properties& properties, const std::string& key, const std::optional<std::string>& value,
                  const std::string& option) {
  if (value) properties.set(key, *value, option);
}

}  // namespace

std::vector<std::string> normalised(int argc, const char* const* argv) {
  static const std::vector<std::string> long_options{"db", "threads", "target", "json"};
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (auto& argument : arguments) {
    if (argument.size() > 2 && argument[0] == '-' && argument[1] != '-' &&
        std::ranges::find(long_options, argument.substr(1)) != long_options.end()) {
      argument.insert(0, 1, '-');
    }
  }
  obey_commands_of_ycsb(arguments);
  return arguments;
}

void add_options(CLI::App& command, Arguments& arguments) {
  command.add_option("--db", arguments.database, "database (-db NAME); `databases` lists them");
  command.add_option("-P", arguments.files, "property file, or name of a shipped workload")->allow_extra_args(false);
  command.add_option("-p", arguments.assignments, "property, key=value; overrides property files")
      ->allow_extra_args(false);
  command.add_option("--threads", arguments.threads, "client threads (-threads N), default 1");
  command.add_option("--target", arguments.target,
                     "operations per second of all threads together (-target N), default: no limit");
  command.add_option("--rate", arguments.rate,
                     "rate of all threads together that changes over time: steps:OPS_S@SECONDS,... or "
                     "sine:mean=,amplitude=,period= or file:CSV with lines time_s,ops_s");
  command.add_flag("-s", arguments.status_lines, "print YCSB's status lines on standard error");
  command.add_option("-l", arguments.label, "label of the status lines");
  command.add_option("--record", arguments.record,
                     "write a trace of the operations, CSV time_s,op,key,size, which -p workload=replay can replay");
  command.add_option("--json", arguments.json, "write events as JSON lines (-json FILE; - is standard output)");
  command.add_option("--durability", arguments.durability,
                     "what an acknowledged write must survive: none, process (default; the death of the process), "
                     "power (a power cut)");
  only_whole_numbers(
      *command.add_option("--seed", arguments.seed, "seed of all random choices; drawn and printed if not given"), 0,
      seed_max);
  command.add_flag("--drop-caches", arguments.drop_caches,
                   "drop the data from the page cache before the run; fails if that is impossible (root; run only)");
  only_real_numbers(*command.add_option("--quiet-before-s", arguments.quiet_before_s,
                                        "seconds without operations before the first one, after the database has "
                                        "settled; measures its quiet power (run only)"),
                    0, 1e6);
  only_real_numbers(*command.add_option("--quiet-after-s", arguments.quiet_after_s,
                                        "the same after the last operation, before the database is closed (run only)"),
                    0, 1e6);
  command.add_flag("--in-step", arguments.in_step,
                   "wait for a line on standard input twice: after the database is opened, and before it is closed. "
                   "Lets a caller run several executions back to back (run only)");
  only_real_numbers(*command.add_option("--warmup", arguments.warmup_s,
                                        "seconds of unmeasured operations before the measured ones (run only)"),
                    0, 1e6);
  only_whole_numbers(
      *command
           .add_option("--interval-ms", arguments.interval_ms, "milliseconds between interval events, 10 to 86400000")
           ->capture_default_str(),
      10, 86'400'000);
  only_real_numbers(*command
                         .add_option("--settle-timeout-s", arguments.settle_timeout_s,
                                     "longest wait, in seconds, for the database to settle")
                         ->capture_default_str(),
                    0, 1e6);
  command.add_flag("--driver-share", arguments.driver_share, "also measure the driver's own cost, by a run on noop");
  only_real_numbers(*command
                         .add_option("--driver-share-max", arguments.driver_share_max,
                                     "share of the driver's cost above which the run warns, 0 to 1")
                         ->capture_default_str(),
                    0, 1);
  command
      .add_option("--die-with-parent", arguments.parent,
                  "exit when the parent process ends; with its PID, also if it has ended already")
      ->type_name("[PID]")
      ->expected(0, 1);
  command.add_option("--failure-share-max", arguments.failure_share_max,
                     "largest share of operations that may fail, 0 to 1, default 0.01; above it the run fails");
  command.add_flag("--quiet", arguments.quiet, "print no progress and no notes on standard error");
}

void add_verify_options(CLI::App& command, Arguments& arguments) {
  command.add_option("--db", arguments.database, "database that stores files under a path (-db NAME)");
  command.add_option("-p", arguments.assignments, "property of the database, key=value")->allow_extra_args(false);
  command.add_option("--durability", arguments.durability, "durability class to test: none, process (default), power");
  command.add_option("--threads", arguments.threads, "writer threads (-threads N), default 1");
  only_whole_numbers(*command.add_option("--seed", arguments.seed,
                                         "seed of the writes and of the cuts; drawn and printed if not given"),
                     0, seed_max);
  command.add_option("--json", arguments.json, "write the report as JSON to a file; - is standard output");
  command.add_flag("--quiet", arguments.quiet, "print no progress and no notes on standard error");
}

Properties gathered(const Arguments& arguments) {
  Properties properties;
  for (const auto& file : arguments.files) properties.load_file(workload_file(file));
  for (const auto& assignment : arguments.assignments) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("-p {}: expected key=value", assignment));
    }
    properties.set(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  set_if_given(properties, "db", arguments.database, "-db");
  set_if_given(properties, "threadcount", arguments.threads, "-threads");
  set_if_given(properties, "target", arguments.target, "-target");
  set_if_given(properties, "rate", arguments.rate, "--rate");
  set_if_given(properties, "label", arguments.label, "-l");
  set_if_given(properties, "durability", arguments.durability, "--durability");
  set_if_given(properties, "failure_share_max", arguments.failure_share_max, "--failure-share-max");
  return properties;
}

}  // namespace edgejoule::driver
