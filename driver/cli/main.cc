// The command line.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "adapters/registry.h"
#include "durability/verify_durability.h"
#include "listings.h"
#include "run/event_log.h"
#include "run/invocation.h"
#include "run/run.h"
#include "run/version.h"
#include "system/failure_words.h"
#include "system/interruption.h"
#include "system/number_option.h"
#include "system/one_line.h"
#include "system/run_failure.h"
#include "system/standard_error.h"
#include "system/system.h"
#include "workload/known_properties.h"
#include "workload/workload_kinds.h"
#include "workload_files.h"
#include "ycsb_bindings.h"

namespace edgejoule::driver {
namespace {

constexpr auto seed_max = std::numeric_limits<std::uint64_t>::max();

constexpr const char* examples = R"(Examples:
  edgejoule-driver load -db sqlite -P workloada -p recordcount=100000 -p sqlite.path=/data/a.db
  edgejoule-driver run  -db sqlite -P workloada -p recordcount=100000 -p operationcount=100000 \
                        -p sqlite.path=/data/a.db -threads 2 -json run.jsonl
  edgejoule-driver run  -db noop -P workloadc -p operationcount=10000000 --seed 1
  edgejoule-driver run  -db rocksdb -P readwhilewriting -p rocksdb.path=/data/r -p num=1000000 -threads 2
  edgejoule-driver run  -db sqlite -P workloadb -p sqlite.path=/data/a.db -p operationcount=60000 \
                        --rate sine:mean=1000,amplitude=500,period=20
  edgejoule-driver run  -db sqlite -P workloada -p sqlite.path=/data/a.db -p operationcount=100000 \
                        --quiet-before-s 5 --quiet-after-s 5 -json run.jsonl
Properties and options of YCSB work unchanged. `databases` lists what a database can be told, `workloads` what a workload.)";

void complain(std::string_view message) { tell("edgejoule-driver: {}\n", one_line(message)); }

// What the user typed, before it is checked against the adapters and each other.
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

// YCSB's client is told what to do by -load or -t (which is the default), without a command. Beside one they must say
// the same: -load would else be -l with the label oad.
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

// YCSB's long options have one dash; CLI11 knows long options with two.
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

void set_if_given(Properties& properties, const std::string& key, const std::optional<std::string>& value,
                  const std::string& option) {
  if (value) properties.set(key, *value, option);
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

const AdapterInfo& adapter_of(const Properties& properties) {
  const auto name = properties.get("db", "");
  if (const auto* adapter = find_adapter(name)) return *adapter;
  for (const auto& absent : left_out_adapters()) {
    if (absent.name == name) {
      throw UsageError(fmt::format("-db {}: {}", name, absent.way_out()));
    }
  }
  std::vector<std::string> names;
  for (const auto& adapter : adapters()) names.push_back(adapter.name);
  if (name.empty())
    throw UsageError(fmt::format("no database given: expected -db and one of: {}", fmt::join(names, ", ")));
  const auto meant = adapter_for_binding(name);
  if (!meant.empty() && std::ranges::find(names, meant) != names.end()) {
    throw UsageError(
        fmt::format("-db {}: a binding of Java YCSB; here it is -db {}, whose options `databases` lists", name, meant));
  }
  throw UsageError(fmt::format(
      "-db {}: {}; expected one of: {}", name,
      is_binding_class(name) ? "a binding of Java YCSB, and no database of this driver" : "unknown database",
      fmt::join(names, ", ")));
}

// The command says what YCSB says with this property: -load sets it to false, -t to true.
void check_command(const Properties& properties, Command command) {
  const bool transactions = properties.get_bool("dotransactions", command == Command::run);
  if (transactions == (command == Command::run) || properties.origin("dotransactions") != "-p") return;
  throw UsageError(fmt::format("-p dotransactions={}: contradicts the command {}; expected the command {}",
                               transactions, transactions ? "load" : "run", transactions ? "run" : "load"));
}

[[noreturn]] void refuse(const Properties& properties, const std::string& key, const std::string& expected) {
  throw UsageError(
      fmt::format("{}: {}={}: expected {}", properties.origin(key), key, properties.get(key, ""), expected));
}

Durability durability_of(const Properties& properties) {
  const auto name = properties.get("durability", "process");
  for (const auto durability : {Durability::none, Durability::process, Durability::power}) {
    if (name_of(durability) == name) return durability;
  }
  refuse(properties, "durability", "one of: none, process, power");
}

unsigned threads_of(const Properties& properties) {
  const auto threads = properties.get_u64("threadcount", 1);
  constexpr std::uint64_t threads_max = 10'000;
  if (threads == 0 || threads > threads_max) refuse(properties, "threadcount", "a number from 1 to 10000");
  return static_cast<unsigned>(threads);
}

double failure_share_max_of(const Properties& properties) {
  constexpr double failure_share_max_default = 0.01;
  const auto share = properties.get_double("failure_share_max", failure_share_max_default);
  if (!(share >= 0 && share <= 1)) refuse(properties, "failure_share_max", "a share of all operations from 0 to 1");
  return share;
}

double longest_gap_s_max_of(const Properties& properties) {
  constexpr double longest_gap_s_max_default = 1;
  const auto seconds = properties.get_double("longest_gap_s_max", longest_gap_s_max_default);
  if (!(seconds >= 0 && seconds <= 1e6)) refuse(properties, "longest_gap_s_max", "seconds from 0 to 1e6");
  return seconds;
}

// YCSB's -target, or a schedule. Empty: none.
std::string rate_of(const Properties& properties) {
  constexpr double target_min = 1e-6;  // an operation in 12 days: slower ones are slips, and runs without an end
  constexpr double target_max = 1e9;
  const auto target = properties.get_double("target", 0);
  if (target != 0 && !(target >= target_min && target <= target_max)) {
    refuse(properties, "target", "operations per second from 1e-6 to 1e9, or 0 for no limit");
  }
  if (!properties.has("rate")) return target > 0 ? fmt::format("{}", target) : "";
  const auto rate = properties.get("rate", "");
  if (rate.empty()) refuse(properties, "rate", "operations per second, or steps:..., sine:... or file:...");
  if (target > 0) refuse(properties, "rate", "either a rate or a target, not both");
  return rate;
}

bool is_one_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  namespace fs = std::filesystem;
  std::error_code absent;
  if (fs::exists(a, absent) && !fs::is_regular_file(a, absent)) return false;  // /dev/null takes any number
  return fs::equivalent(a, b, absent) ||
         fs::weakly_canonical(fs::absolute(a), absent) == fs::weakly_canonical(fs::absolute(b), absent);
}

using NamedFile = std::pair<std::string, std::string>;  // the option or property, and its file

std::vector<NamedFile> outputs_of(const Arguments& arguments, const Properties& properties) {
  std::vector<NamedFile> outputs;
  if (arguments.json && *arguments.json != "-") outputs.emplace_back("-json", *arguments.json);
  if (arguments.record) outputs.emplace_back("--record", *arguments.record);
  if (const auto file = properties.get("exportfile", ""); !file.empty()) outputs.emplace_back("exportfile", file);
  return outputs;
}

std::vector<NamedFile> inputs_of(const Arguments& arguments, const Properties& properties) {
  constexpr std::string_view rates_in = "file:";
  std::vector<NamedFile> inputs;
  for (const auto& file : arguments.files) inputs.emplace_back("-P", file);
  for (const auto* property : {"trace", "fieldlengthhistogram"}) {
    if (properties.has(property)) inputs.emplace_back(property, properties.get(property, ""));
  }
  const auto rate = properties.get("rate", "");
  if (rate.starts_with(rates_in)) inputs.emplace_back("--rate", rate.substr(rates_in.size()));
  return inputs;
}

// An output must not overwrite an input or another output.
void check_outputs(const Arguments& arguments, const Properties& properties) {
  auto taken = inputs_of(arguments, properties);
  for (const auto& output : outputs_of(arguments, properties)) {
    for (const auto& other : taken) {
      if (!is_one_file(output.second, other.second)) continue;
      throw UsageError(
          fmt::format("{} {}: is the file of {}; expected another file", output.first, output.second, other.first));
    }
    taken.push_back(output);
  }
}

std::uint64_t drawn_seed() { return std::random_device{}(); }

Invocation checked(const Arguments& arguments, Properties properties) {
  const auto& adapter = adapter_of(properties);
  const auto& kind = workload_kind(properties);
  check_command(properties, arguments.command);
  for (const auto& note : check_names(properties, adapter)) {
    if (!arguments.quiet) complain("properties " + note);
  }
  if (arguments.drop_caches && arguments.command == Command::load) throw UsageError("--drop-caches: only for run");
  if (arguments.warmup_s > 0 && arguments.command == Command::load) throw UsageError("--warmup: only for run");
  if (arguments.quiet_before_s > 0 && arguments.command == Command::load) {
    throw UsageError("--quiet-before-s: only for run");
  }
  if (arguments.quiet_after_s > 0 && arguments.command == Command::load) {
    throw UsageError("--quiet-after-s: only for run");
  }
  if (arguments.in_step && arguments.command == Command::load) throw UsageError("--in-step: only for run");
  auto workload = kind.make(properties, arguments.command);
  for (const auto& [name, value] : kind.row) properties.set(name, value, "workload");
  for (const auto& [name, value] : workload->defaults) {
    if (!properties.has(name)) properties.set(name, value, "default of workload=" + kind.name);
  }
  if (workload->verify && adapter.name == "noop") {
    refuse(properties, "dataintegrity", "a database that keeps data; noop keeps none");
  }
  const auto rate = rate_of(properties);
  return {arguments.command,
          &adapter,
          properties,
          std::move(workload),
          durability_of(properties),
          threads_of(properties),
          rate.empty() ? std::nullopt : std::optional(RateSchedule::parse(rate)),
          rate,
          arguments.seed ? *arguments.seed : drawn_seed(),
          arguments.drop_caches,
          arguments.quiet_before_s,
          arguments.quiet_after_s,
          arguments.in_step,
          arguments.warmup_s,
          arguments.interval_ms,
          arguments.settle_timeout_s,
          arguments.driver_share,
          arguments.driver_share_max,
          failure_share_max_of(properties),
          longest_gap_s_max_of(properties),
          report_options(properties),
          arguments.status_lines || properties.get_bool("status", false),
          std::max<std::uint64_t>(1, properties.get_u64("status.interval", 10)),
          properties.get("label", ""),
          arguments.quiet,
          arguments.record,
          arguments.json};
}

int failed(EventLog& log, const RunFailure& failure) {
  complain(failure.what());
  try {
    log.write("error", now_monotonic_ns(), {{"kind", failure.name()}, {"message", failure.what()}});
  } catch (const RunFailure& unwritten) {
    complain(unwritten.what());
  }
  return failure.exit_status();
}

// 0: whatever parent there is.
pid_t parent_of(const std::string& text) {
  pid_t parent = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), parent);
  if (!text.empty() && (failure != std::errc{} || end != text.data() + text.size() || parent <= 0)) {
    throw UsageError(fmt::format("--die-with-parent={}: expected the process id of the parent, or nothing", text));
  }
  return parent;
}

int drive(const Arguments& arguments) {
  Properties properties;
  std::exception_ptr wrong;
  try {
    properties = gathered(arguments);
  } catch (const UsageError&) {
    wrong = std::current_exception();  // told as an event, too
  }
  check_outputs(arguments, properties);  // before the first is opened
  EventLog log(arguments.json);
  try {
    if (wrong) std::rethrow_exception(wrong);
    if (arguments.parent) die_with_parent(parent_of(*arguments.parent));
    const auto invocation = checked(arguments, std::move(properties));
    if (!arguments.seed && !arguments.quiet) tell("edgejoule-driver: --seed {}\n", invocation.seed);
    catch_interruptions();
    carry_out(invocation, log);
    return 0;
  } catch (const UsageError& error) {
    return failed(log, RunFailure(RunFailure::Kind::usage, error.what()));
  } catch (const RunFailure& failure) {
    return failed(log, failure);
  } catch (const std::exception& error) {
    return failed(log, RunFailure(RunFailure::Kind::system, failure_words(error)));
  }
}

int verify(const Arguments& arguments, const DurabilityTestOptions& options) {
  const auto properties = gathered(arguments);
  const DurabilityTest test{&adapter_of(properties),
                            properties,
                            durability_of(properties),
                            threads_of(properties),
                            arguments.seed ? *arguments.seed : drawn_seed(),
                            !arguments.seed,
                            arguments.json,
                            arguments.quiet};
  try {
    return verify_durability(test, options);
  } catch (const RunFailure& failure) {
    complain(failure.what());
    return failure.exit_status();
  }
}

int obey(int argc, const char* const* argv) {
  CLI::App app{
      "Drives databases with the workloads of YCSB, db_bench, Mobibench and sqlite-bench, and measures latency, "
      "throughput and resources.",
      "edgejoule-driver"};
  app.footer(examples);
  app.set_version_flag("--version", std::string(version));
  app.require_subcommand(1);
  Arguments arguments;
  auto* load = app.add_subcommand("load", "insert the records of a workload");
  auto* run = app.add_subcommand("run", "run the operations of a workload");
  add_options(*load, arguments);
  add_options(*run, arguments);
  bool databases_as_json = false;
  auto* databases = app.add_subcommand("databases", "list the databases built in, with their options");
  databases->add_flag("--json", databases_as_json, "as JSON");
  const auto* workloads = app.add_subcommand("workloads", "list the kinds of workload, with their properties");
  DurabilityTestOptions durability_options;
  auto* durability = app.add_subcommand("verify-durability", "cut the power at random places, count what is lost");
  add_verify_options(*durability, arguments);
  add_durability_test_options(*durability, durability_options);
  durability->footer(durability_test_examples());
  try {
    auto words = normalised(argc, argv);
    std::ranges::reverse(words);
    app.parse(words);
    if (databases->parsed()) {
      list_databases(databases_as_json);
      return 0;
    }
    if (workloads->parsed()) {
      list_workloads();
      return 0;
    }
    if (durability->parsed()) return verify(arguments, durability_options);
    arguments.command = load->parsed() ? Command::load : Command::run;
    return drive(arguments);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    complain(fmt::format("{}; see --help", error.what()));
  } catch (const UsageError& error) {
    complain(error.what());
  } catch (const std::exception& error) {
    complain(failure_words(error));
    return 1;
  }
  return 2;
}

// What standard output has not taken is lost: no success.
bool written() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

// Carries out what the arguments ask for and returns the exit status: 0 done, 1 failed, 2 asked wrongly,
// 130 interrupted. Every failure is one line on standard error.
int command_line(int argc, const char* const* argv) {
  const int status = obey(argc, argv);
  constexpr int durability_not_kept = 3;
  if ((status != 0 && status != durability_not_kept) || written()) return status;
  complain(fmt::format("standard output: cannot be written: {}", std::strerror(errno)));
  return 1;
}

}  // namespace

}  // namespace edgejoule::driver

int main(int argc, char** argv) {
  // A file size limit is an error the database reports in its own words, not the process's death.
  signal(SIGXFSZ, SIG_IGN);
  // libmongoc keeps counters in shared memory under its process id. A killed process leaves them there, and the next
  // process with the same id prints a warning when the adapter is loaded. Nobody reads the counters.
  setenv("MONGOC_DISABLE_SHM", "1", 0);
  return edgejoule::driver::command_line(argc, argv);
}
