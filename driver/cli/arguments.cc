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
  command.add_option("-P", arguments.files, "property file, or the name of a workload that comes with the driver")
      ->allow_extra_args(false);
  command.add_option("-p", arguments.assignments, "property, key=value; wins over files")->allow_extra_args(false);
  command.add_option("--threads", arguments.threads, "client threads (-threads N), default 1");
  command.add_option("--target", arguments.target,
                     "operations per second of all threads (-target N), default: no limit");
  command.add_option("--rate", arguments.rate,
                     "a rate that changes, of all threads: steps:OPS_S@SECONDS,... sine:mean=,amplitude=,period= or "
                     "file:CSV with lines time_s,ops_s");
  command.add_flag("-s", arguments.status_lines, "status lines on standard error, as YCSB prints them");
  command.add_option("-l", arguments.label, "label of the status lines");
  command.add_option("--record", arguments.record,
                     "write the trace of the run, CSV time_s,op,key,size, for -p workload=replay");
  command.add_option("--json", arguments.json, "events as JSON lines (-json FILE; - is standard output)");
  command.add_option("--durability", arguments.durability,
                     "what must survive once acknowledged: none, process (default), power");
  only_whole_numbers(
      *command.add_option("--seed", arguments.seed, "seed of everything random; drawn and printed when absent"), 0,
      seed_max);
  command.add_flag("--drop-caches", arguments.drop_caches,
                   "empty the system's page cache of the data before the run (root; run only), and fail if it is not");
  only_real_numbers(*command.add_option("--quiet-before-s", arguments.quiet_before_s,
                                        "seconds to stand still before the first operation, the database open and "
                                        "settled: its quiet power (run only)"),
                    0, 1e6);
  only_real_numbers(*command.add_option("--quiet-after-s", arguments.quiet_after_s,
                                        "the same after the database has settled, before it is closed (run only)"),
                    0, 1e6);
  command.add_flag("--in-step", arguments.in_step,
                   "wait for a line on standard input twice: when the database is open, and before it is closed (run "
                   "only). So several executions work directly one after another");
  only_real_numbers(
      *command.add_option("--warmup", arguments.warmup_s, "seconds of operations before the measured ones (run only)"),
      0, 1e6);
  only_whole_numbers(
      *command.add_option("--interval-ms", arguments.interval_ms, "time between interval events, 10 to 86400000")
           ->capture_default_str(),
      10, 86'400'000);
  only_real_numbers(
      *command
           .add_option("--settle-timeout-s", arguments.settle_timeout_s, "longest wait until the database has settled")
           ->capture_default_str(),
      0, 1e6);
  command.add_flag("--driver-share", arguments.driver_share, "measure what the driver itself costs, on noop");
  only_real_numbers(
      *command
           .add_option("--driver-share-max", arguments.driver_share_max, "share above which the run says so, 0 to 1")
           ->capture_default_str(),
      0, 1);
  command
      .add_option("--die-with-parent", arguments.parent,
                  "be killed when the process that started this one ends; with its PID also when it has ended already")
      ->type_name("[PID]")
      ->expected(0, 1);
  command.add_option("--failure-share-max", arguments.failure_share_max,
                     "share of the operations that may fail, 0 to 1, default 0.01: above it the run has failed");
  command.add_flag("--quiet", arguments.quiet, "no progress and no notes on standard error");
}

void add_verify_options(CLI::App& command, Arguments& arguments) {
  command.add_option("--db", arguments.database, "database with files on a path (-db NAME)");
  command.add_option("-p", arguments.assignments, "property of the database, key=value")->allow_extra_args(false);
  command.add_option("--durability", arguments.durability, "class to test: none, process (default), power");
  command.add_option("--threads", arguments.threads, "threads that write (-threads N), default 1");
  only_whole_numbers(*command.add_option("--seed", arguments.seed,
                                         "seed of the writes and of the cuts; drawn and printed when absent"),
                     0, seed_max);
  command.add_option("--json", arguments.json, "the report as JSON into a file; - is standard output");
  command.add_flag("--quiet", arguments.quiet, "no progress and no notes on standard error");
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
