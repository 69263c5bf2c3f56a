#include "verify_durability.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "child_process.h"
#include "durability_report.h"
#include "system/interruption.h"
#include "system/memory_size.h"
#include "system/number_option.h"
#include "system/run_failure.h"
#include "system/standard_error.h"
#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t mib = 1024 * 1024;
constexpr std::uint64_t disk_mib_default = 128;
constexpr int status_kept = 0;
constexpr int status_not_kept = 3;

constexpr const char* examples = R"(Examples (all need root):
  edgejoule-driver verify-durability -db sqlite --durability power
  edgejoule-driver verify-durability -db rocksdb --vary durability=none,process,power
  edgejoule-driver verify-durability -db sqlite --expect power \
      --vary sqlite.journal_mode=delete,wal --vary sqlite.synchronous=normal,full,extra
  edgejoule-driver verify-durability -db leveldb --durability power --device-ignores-flushes
Exit status: 0 every promise was kept, 1 the test could not run, 2 wrong arguments, 3 a promise was broken.
docs/how-to/durability.md explains the test and what it can prove.)";

// A progress line on standard error that is overwritten in place.
class CutProgress {
 public:
  explicit CutProgress(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) == 1) {}
  ~CutProgress() {
    if (shown_) tell("\r\033[K");
  }
  CutProgress(const CutProgress&) = delete;
  CutProgress& operator=(const CutProgress&) = delete;

  void show(const std::string& what, std::size_t done, std::size_t planned) {
    if (!shown_) return;
    constexpr std::size_t columns = 24;
    const auto filled = planned == 0 ? 0 : done * columns / planned;
    tell("\r\033[K{} [{:=<{}}{:{}}] {} of {} cuts  {}", what, "", filled, "", columns - filled, done, planned,
         left(done, planned));
  }

 private:
  // Remaining time, estimated from this setting's cuts so far.
  std::string left(std::size_t done, std::size_t planned) {
    const auto now = std::chrono::steady_clock::now();
    if (done == 0) begin_ = now;
    if (done == 0) return {};
    const std::chrono::duration<double> passed = now - begin_;
    return fmt::format("{:.0f} s left",
                       passed.count() * static_cast<double>(planned - done) / static_cast<double>(done));
  }

  bool shown_;
  std::chrono::steady_clock::time_point begin_;
};

TestDisk disk_of(const DurabilityTestOptions& options) {
  const auto least = disk_bytes_min(options.file_system) / mib;
  const auto size = options.disk_mib.value_or(std::max(disk_mib_default, least));
  if (size < least) {
    throw UsageError(fmt::format("--disk-mib {}: expected at least {} for {}", size, least, options.file_system));
  }
  return {{options.file_system, options.mount_options}, size * mib};
}

void check_machine(const std::string& file_system) {
  const auto missing = missing_for_test(file_system);
  if (missing.empty()) return;
  throw RunFailure(RunFailure::Kind::system,
                   fmt::format("verify-durability cannot work here: {}", fmt::join(missing, "; also, ")));
}

void count_requests(const Recording& recording, SettingReport& report) {
  for (std::uint64_t index = 0; index < recording.end_position; ++index) {
    const bool write = recording.trace->entry(index).kind == TraceEntry::Kind::write;
    ++(write ? report.trace_writes : report.trace_flushes);
  }
  report.trace_bytes = recording.trace->data_bytes();
}

// Tests one setting after another: records, cuts, examines.
class Tester {
 public:
  Tester(const DurabilityTest& test, const DurabilityTestOptions& options, TestDisk disk)
      : options_(options),
        disk_(std::move(disk)),
        stream_{options.operations, test.threads, test.seed},
        progress_(test.quiet) {}

  SettingReport test(const NamedSetting& named) {
    progress_.show(named.name, 0, memory_size(options_.cuts));
    const auto recording = record(named.setting, disk_, stream_, workplace_);
    SettingReport report{named.name, named.setting.durability, named.setting.promise, recording.version,
                         recording.durability_how};
    count_requests(recording, report);
    const auto cuts = cuts_of(recording);
    for (const auto& cut : cuts) {
      stop_when_interrupted();
      progress_.show(named.name, report.outcomes.size(), cuts.size());
      report.outcomes.push_back(examine(recording, named.setting, disk_, stream_, cut, flushes(), workplace_));
    }
    return report;
  }

  [[nodiscard]] DurabilityReport empty_report(const std::string& database, const std::string& small_buffers) const {
    return {database, disk_, stream_, flushes(), small_buffers, {}};
  }

  [[nodiscard]] std::filesystem::path files() const { return workplace_.files(); }

 private:
  [[nodiscard]] Flushes flushes() const {
    return options_.device_ignores_flushes ? Flushes::ignored : Flushes::honoured;
  }

  [[nodiscard]] std::vector<Cut> cuts_of(const Recording& recording) const {
    auto cuts = choose_cuts(*recording.trace, cut_plan(recording, flushes()), options_.cuts, stream_.seed);
    if (options_.cut) std::erase_if(cuts, [this](const Cut& cut) { return cut.number != *options_.cut; });
    return cuts;
  }

  const DurabilityTestOptions& options_;
  TestDisk disk_;
  StreamShape stream_;
  Workplace workplace_;
  CutProgress progress_;
};

void check_cut(const DurabilityTestOptions& options) {
  if (!options.cut || *options.cut < options.cuts) return;
  throw UsageError(
      fmt::format("--cut {}: expected 0 to {}, as --cuts is {}", *options.cut, options.cuts - 1, options.cuts));
}

DurabilityReport tested(const DurabilityTest& test, const DurabilityTestOptions& options) {
  check_cut(options);
  check_testable(*test.adapter, test.properties);
  DatabaseSetting base{test.adapter, test.properties, test.durability, test.durability};
  auto settings = test_settings(base, options.vary, options.expect);
  auto disk = disk_of(options);
  check_machine(options.file_system);
  if (const auto leftovers = clear_leftovers(); !leftovers.empty() && !test.quiet) {
    tell("edgejoule-driver: left by an earlier call that was killed: {}\n", fmt::join(leftovers, ", "));
  }
  if (test.seed_drawn && !test.quiet) tell("edgejoule-driver: --seed {}\n", test.seed);
  Tester tester(test, options, std::move(disk));
  std::string small_buffers;
  for (auto& named : settings) {
    small_buffers = prepare_for_test(*test.adapter, named.setting.properties, tester.files());
  }
  auto report = tester.empty_report(test.adapter->name, small_buffers);
  for (const auto& named : settings) report.settings.push_back(tester.test(named));
  return report;
}

void write_json(const std::string& file, const DurabilityReport& report) {
  if (file == "-") {
    fmt::print("{}", as_json(report));
    return;
  }
  std::ofstream out(file);
  out << as_json(report) << std::flush;
  if (!out) throw RunFailure(RunFailure::Kind::io, fmt::format("--json {}: cannot be written", file));
}

}  // namespace

const char* durability_test_examples() { return examples; }

void add_durability_test_options(CLI::App& command, DurabilityTestOptions& options) {
  constexpr std::uint64_t many = 1'000'000;
  only_whole_numbers(*command.add_option("--cuts", options.cuts, "power cuts for each setting")->capture_default_str(),
                     1, many);
  only_whole_numbers(
      *command.add_option("--operations", options.operations, "inserts, updates and removes in one stream")
           ->capture_default_str(),
      1, many);
  command
      .add_option("--vary", options.vary,
                  "key=value,value: test each value; if given several times, every combination. The key is a "
                  "property of the database, or durability")
      ->allow_extra_args(false);
  command.add_option("--expect", options.expect, "judge the results against this class instead: none, process, power");
  command.add_option("--file-system", options.file_system, "file system under the database")
      ->capture_default_str()
      ->check(CLI::IsMember(file_system_names()));
  command.add_option("--mount-options", options.mount_options,
                     "mount options of the file system, in the form of mount -o");
  only_whole_numbers(*command.add_option("--disk-mib", options.disk_mib,
                                         "size of the disk; written parts are held in memory; default 128, "
                                         "xfs 320"),
                     1, many);
  only_whole_numbers(*command.add_option("--cut", options.cut, "examine only the cut with this number; the first is 0"),
                     0, many);
  command.add_flag("--device-ignores-flushes", options.device_ignores_flushes,
                   "control test: the disk confirms flushes and still loses its last 64 writes, so every promise "
                   "must fail");
}

int verify_durability(const DurabilityTest& test, const DurabilityTestOptions& options) {
  catch_interruptions();
  try {
    const auto report = tested(test, options);
    if (test.json) write_json(*test.json, report);
    if (test.json != "-") fmt::print("{}", as_table(report));
    return all_kept(report) ? status_kept : status_not_kept;
  } catch (const Interrupted&) {
    throw RunFailure(RunFailure::Kind::interrupted,
                     fmt::format("interrupted ({}); the disk and its mounts are gone", interruption_name()));
  }
}

}  // namespace edgejoule::driver
