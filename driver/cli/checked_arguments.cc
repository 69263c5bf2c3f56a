#include "checked_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "adapters/registry.h"
#include "system/one_line.h"
#include "system/standard_error.h"
#include "workload/known_properties.h"
#include "workload/workload_kinds.h"
#include "ycsb_bindings.h"

namespace edgejoule::driver {
namespace {

// YCSB sets this property to false with -load and to true with -t. It must agree with the command.
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

// YCSB's -target or a schedule. Empty: none.
std::string rate_of(const Properties& properties) {
  // One operation in 12 days: a lower value is a typing error and gives a run without an end.
  constexpr double target_min = 1e-6;
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
  if (fs::exists(a, absent) && !fs::is_regular_file(a, absent)) return false;  // several outputs may go to /dev/null
  return fs::equivalent(a, b, absent) ||
         fs::weakly_canonical(fs::absolute(a), absent) == fs::weakly_canonical(fs::absolute(b), absent);
}

using NamedFile = std::pair<std::string, std::string>;  // option or property, and its file

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

void refuse_options_of_run(const Arguments& arguments) {
  for (const auto& [given, option] :
       {std::pair{arguments.drop_caches, "--drop-caches"}, std::pair{arguments.warmup_s > 0, "--warmup"},
        std::pair{arguments.quiet_before_s > 0, "--quiet-before-s"},
        std::pair{arguments.quiet_after_s > 0, "--quiet-after-s"}, std::pair{arguments.in_step, "--in-step"}}) {
    if (given) throw UsageError(fmt::format("{}: only for run", option));
  }
}

}  // namespace

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

std::uint64_t seed_of(const Arguments& arguments) { return arguments.seed ? *arguments.seed : std::random_device{}(); }

Invocation checked(const Arguments& arguments, Properties properties) {
  const auto& adapter = adapter_of(properties);
  const auto& kind = workload_kind(properties);
  check_command(properties, arguments.command);
  for (const auto& note : check_names(properties, adapter)) {
    if (!arguments.quiet) tell("edgejoule-driver: {}\n", one_line("properties " + note));
  }
  if (arguments.command == Command::load) refuse_options_of_run(arguments);
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
          seed_of(arguments),
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

}  // namespace edgejoule::driver
