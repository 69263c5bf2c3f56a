// The command line.
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "checked_arguments.h"
#include "durability/verify_durability.h"
#include "listings.h"
#include "run/event_log.h"
#include "run/run.h"
#include "run/version.h"
#include "system/failure_message.h"
#include "system/interruption.h"
#include "system/one_line.h"
#include "system/run_failure.h"
#include "system/standard_error.h"
#include "system/standard_files.h"
#include "system/system.h"

namespace edgejoule::driver {
namespace {

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
Properties and options of YCSB work unchanged. `databases` lists the options of each database, `workloads` the properties of each workload.)";

void complain(std::string_view message) { tell("edgejoule-driver: {}\n", one_line(message)); }

int failed(EventLog& log, const RunFailure& failure) {
  complain(failure.what());
  try {
    log.write("error", now_monotonic_ns(), {{"kind", failure.name()}, {"message", failure.what()}});
  } catch (const RunFailure& unwritten) {
    complain(unwritten.what());
  }
  return failure.exit_status();
}

// 0: any parent.
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
    wrong = std::current_exception();  // also reported as an event
  }
  check_outputs(arguments, properties);  // before the first output is opened
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
    return failed(log, RunFailure(RunFailure::Kind::system, failure_message(error)));
  }
}

int verify(const Arguments& arguments, const DurabilityTestOptions& options) {
  const auto properties = gathered(arguments);
  const DurabilityTest test{&adapter_of(properties), properties,         durability_of(properties),
                            threads_of(properties),  seed_of(arguments), !arguments.seed,
                            arguments.json,          arguments.quiet};
  try {
    return verify_durability(test, options);
  } catch (const RunFailure& failure) {
    complain(failure.what());
    return failure.exit_status();
  }
}

// For a command that does not exist CLI11 says only that one is required.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto unknown = app.remaining();
  if (unknown.empty() || !app.get_subcommands().empty()) return error.what();
  if (unknown.front().starts_with('-')) return "unknown option " + unknown.front();
  std::vector<std::string> commands;
  for (const auto* command : app.get_subcommands({})) commands.push_back(command->get_name());
  return fmt::format("unknown command {}; expected one of {}", unknown.front(), fmt::join(commands, ", "));
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
  auto* databases = app.add_subcommand("databases", "list the built-in databases and their options");
  databases->add_flag("--json", databases_as_json, "as JSON");
  const auto* workloads = app.add_subcommand("workloads", "list the kinds of workload and their properties");
  DurabilityTestOptions durability_options;
  auto* durability = app.add_subcommand("verify-durability", "cut the power at random points and count lost writes");
  add_verify_options(*durability, arguments);
  add_durability_test_options(*durability, durability_options);
  durability->footer(durability_test_examples());
  try {
    auto parsed = normalised(argc, argv);
    std::ranges::reverse(parsed);
    app.parse(parsed);
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
    complain(fmt::format("{}; see --help", usage_error(app, error)));
  } catch (const UsageError& error) {
    complain(error.what());
  } catch (const std::exception& error) {
    complain(failure_message(error));
    return 1;
  }
  return 2;
}

// Returns false if standard output could not be written; its contents are then lost.
bool written() {
  std::cout.flush();
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

// Performs the command and returns the exit status: 0 success, 1 failure, 2 usage error, 130 interrupted. Each failure
// prints one line on standard error.
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
  edgejoule::driver::occupy_closed_descriptors();
  // At a file size limit the database must get an error, which it reports, instead of a fatal signal.
  signal(SIGXFSZ, SIG_IGN);
  // libmongoc keeps counters in shared memory under its process id. A killed process leaves them there, and the next
  // process with the same id prints a warning when the adapter is loaded. Nobody reads the counters.
  setenv("MONGOC_DISABLE_SHM", "1", 0);
  return edgejoule::driver::command_line(argc, argv);
}
