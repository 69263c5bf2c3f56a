#include "known_properties.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "adapters/registry.h"
#include "workload_kinds.h"

namespace edgejoule::driver {

const std::vector<PropertyHelp>& properties_of_every_run() {
  using enum PropertyType;
  static const std::vector<PropertyHelp> properties{
      {"db", text, "the database", ""},
      {"dotransactions", flag, "true: run the operations; false: load the records", "as the command"},
      {"durability",
       text,
       "what an acknowledged write must survive: the death of the process, or a power cut",
       "process",
       {durability_names.begin(), durability_names.end()}},
      {"exporter", text, "YCSB's class that writes the report",
       "site.ycsb.measurements.exporter.TextMeasurementsExporter"},
      {"exportfile", text, "file of the report; empty: standard output", ""},
      {"failure_share_max", share, "largest share of operations that may fail; above it the run fails", "0.01"},
      {"hdrhistogram.percentiles", text, "percentiles of the report, separated by commas", "95,99"},
      {"label", text, "label of the status lines", ""},
      {"longest_gap_s_max", number, "seconds without a successful operation above which the run warns", "1"},
      {"latencytrackederrors", text, "statuses whose latencies are reported separately, separated by commas", ""},
      {"maxexecutiontime", count, "seconds after which the operations end; 0: no limit", "0"},
      {"measurement.interval",
       text,
       "latencies in the report: op: from the start of an operation; intended: from the time it was due; both",
       "op",
       {"op", "intended", "both"}},
      {"operationcount", count, "operations of a run", ""},
      {"rate", text, "operations per second of all threads together, or a schedule: steps:, sine: or file:", ""},
      {"recordcount", count, "records in the database before the run", ""},
      {"reportlatencyforeacherror", flag, "report the latencies of each status separately", "false"},
      {"status", flag, "status lines on standard error", "false"},
      {"status.interval", count, "seconds between status lines", "10"},
      {"target", number, "operations per second of all threads together; 0: no limit", "0"},
      {"threadcount", count, "client threads", "1"},
      {"workload", text, "the kind of workload", "site.ycsb.workloads.CoreWorkload"},
  };
  return properties;
}

std::vector<std::string> names_of(const std::vector<PropertyHelp>& properties) {
  std::vector<std::string> names;
  for (const auto& property : properties) names.push_back(property.name);
  return names;
}

const std::vector<WithoutEffect>& properties_without_effect() {
  constexpr auto* single = "single latencies are not kept";
  constexpr auto* all = "-json has the whole histogram of every operation";
  static const std::vector<WithoutEffect> properties{
      {"hdrhistogram.fileoutput", all},
      {"hdrhistogram.output.path", all},
      {"histogram.buckets", "latencies are counted in HdrHistograms"},
      {"htrace.", "the driver does not trace"},
      {"measurement.histogram.verbose", all},
      {"measurement.raw.no_summary", single},
      {"measurement.raw.output_file", single},
      {"measurement.trackjvm", "there is no JVM; -json has the memory and CPU time of the process"},
      {"spin.sleep", "waiting threads sleep"},
      {"timeseries.granularity", "--interval-ms is the length of -json's intervals"}};
  return properties;
}

const std::vector<std::string>& measurement_types() {
  static const std::vector<std::string> types{"hdrhistogram",     "histogram",  "hdrhistogram+histogram",
                                              "hdrhistogram+raw", "timeseries", "raw"};
  return types;
}

std::vector<std::string> database_names() {
  std::vector<std::string> names;
  for (const auto& adapter : adapters()) names.push_back(adapter.name);
  for (const auto& adapter : left_out_adapters()) names.push_back(adapter.name);
  std::ranges::sort(names);
  return names;
}

namespace {

std::vector<std::string> effective(const WorkloadKind& kind) {
  auto properties = properties_of_every_run();
  for (const auto& list : {kind.ycsb_properties, kind.properties}) {
    properties.insert(properties.end(), list.begin(), list.end());
  }
  return names_of(properties);
}

const WithoutEffect* without_effect(std::string_view name) {
  const auto found = std::ranges::find_if(properties_without_effect(), [name](const WithoutEffect& property) {
    return property.name.ends_with('.') ? name.starts_with(property.name) : name == property.name;
  });
  return found == properties_without_effect().end() ? nullptr : &*found;
}

bool keeps_tables(std::string_view adapter) {
  return adapter == "mongodb" || adapter == "postgres" || adapter == "rocksdb" || adapter == "sqlite";
}

// The reason why this value has no effect, or none on this database; "" if it has an effect.
std::string why_idle(const std::string& name, const std::string& value, const AdapterInfo& adapter) {
  if (name == "measurementtype" && value != "hdrhistogram") {
    return "the report is always that of hdrhistogram; -json's intervals are a time series";
  }
  if (name == "table" && value != "usertable" && !keeps_tables(adapter.name)) {
    return adapter.name + " keeps one table";
  }
  const auto* found = without_effect(name);
  return found == nullptr ? "" : found->why;
}

bool is_of_ycsb_alone(const std::string& name) {
  return name == "measurementtype" || name == "table" || without_effect(name) != nullptr;
}

void check_measurement_type(const Properties& properties) {
  const auto type = properties.get("measurementtype", "hdrhistogram");
  if (std::ranges::find(measurement_types(), type) != measurement_types().end()) return;
  throw UsageError(fmt::format("{}: measurementtype={}: expected one of: {}", properties.origin("measurementtype"),
                               type, fmt::join(measurement_types(), ", ")));
}

constexpr std::size_t slip_max = 2;  // letters that differ in a typing error

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const auto replaced = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({row[k + 1] + 1, row[k] + 1, replaced});
    }
  }
  return row.back();
}

std::vector<std::string> options_of(const AdapterInfo& adapter) {
  std::vector<std::string> names;
  for (const auto& option : adapter.options) names.push_back(option.name);
  return names;
}

std::vector<std::string> known_to(const WorkloadKind& kind, const AdapterInfo& adapter) {
  auto names = effective(kind);
  for (const auto& option : options_of(adapter)) names.push_back(option);
  return names;
}

// The database whose name the prefix of `name` misses by one letter; "" if there is none.
std::string database_misspelled(const std::string& name) {
  const auto prefix = name.substr(0, name.find('.'));
  for (const auto& database : database_names()) {
    if (distance(prefix, database) == 1) return database;
  }
  return "";
}

// A dotted name in a file that is neither the adapter's option nor a misspelled known one: an option of another
// database.
bool is_foreign(const Properties& properties, const std::string& name, const AdapterInfo& adapter) {
  const auto dot = name.find('.');
  return dot != std::string::npos && properties.origin(name) != "-p" && name.substr(0, dot) != adapter.name &&
         database_misspelled(name).empty();
}

// The adapter whose option the name seems to be; nullptr: none that is built in.
const AdapterInfo* adapter_meant(std::string_view name) {
  const auto dot = name.find('.');
  return dot == std::string_view::npos ? nullptr : find_adapter(name.substr(0, dot));
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& names, std::string_view owner) {
  const auto near = nearest(name, names);
  if (!near.empty()) return fmt::format("; did you mean {}?", near);
  return fmt::format("; {} has: {}", owner, fmt::join(names, ", "));
}

// The property for an option or term of another tool; "" if there is none.
std::string property_meant(std::string_view name) {
  for (const auto& [word, property] : {std::pair{"threads", "threadcount"}, std::pair{"records", "recordcount"},
                                       std::pair{"operations", "operationcount"}, std::pair{"database", "db"}}) {
    if (name == word) return property;
  }
  return "";
}

std::string hint(const std::string& name, const WorkloadKind& kind, const AdapterInfo& adapter) {
  if (name.starts_with(adapter.name + ".")) {
    const auto options = options_of(adapter);
    return options.empty() ? fmt::format("; {} has no options", adapter.name)
                           : did_you_mean(name, options, adapter.name);
  }
  if (const auto meant = property_meant(name); !meant.empty()) return fmt::format("; did you mean {}?", meant);
  const auto near = nearest(name, known_to(kind, adapter));
  if (!near.empty() && distance(name, near) <= slip_max) return fmt::format("; did you mean {}?", near);
  if (const auto database = database_misspelled(name); !database.empty()) {
    return fmt::format("; did you mean {}{}?", database, name.substr(std::min(name.find('.'), name.size())));
  }
  if (const auto* other = adapter_meant(name)) {
    return fmt::format(": an option of {}, but the database is {}", other->name, adapter.name);
  }
  return did_you_mean(name, effective(kind), "a workload");
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  std::string best;
  auto best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& candidate : names) {
    const auto candidate_distance = distance(name, candidate);
    if (candidate_distance >= best_distance) continue;
    best = candidate;
    best_distance = candidate_distance;
  }
  return best;
}

std::vector<std::string> check_names(const Properties& properties, const AdapterInfo& adapter) {
  const auto& kind = workload_kind(properties);
  const auto known = known_to(kind, adapter);
  check_measurement_type(properties);
  std::vector<std::string> foreign;
  std::vector<std::string> idle;
  for (const auto& [name, value] : properties.all()) {
    if (contains(known, name)) continue;
    if (is_of_ycsb_alone(name)) {
      const auto why = why_idle(name, value, adapter);
      if (!why.empty()) idle.push_back(fmt::format("{} ({})", name, why));
      continue;
    }
    const auto near = nearest(name, known);
    if (is_foreign(properties, name, adapter) && (near.empty() || distance(name, near) > slip_max)) {
      foreign.push_back(name);
      continue;
    }
    throw UsageError(
        fmt::format("{}: unknown property {}{}", properties.origin(name), name, hint(name, kind, adapter)));
  }
  std::vector<std::string> notes;
  if (!foreign.empty()) notes.push_back(fmt::format("of other databases, ignored: {}", fmt::join(foreign, ", ")));
  if (!idle.empty()) notes.push_back(fmt::format("without effect here: {}", fmt::join(idle, ", ")));
  return notes;
}

}  // namespace edgejoule::driver
