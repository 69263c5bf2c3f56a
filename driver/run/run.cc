#include "run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "client.h"
#include "crew.h"
#include "driver_share.h"
#include "event_json.h"
#include "event_queue.h"
#include "progress.h"
#include "system/interruption.h"
#include "system/one_line.h"
#include "system/page_cache.h"
#include "system/run_failure.h"
#include "system/standard_error.h"
#include "system/system.h"
#include "system/usage.h"
#include "trace_writer.h"
#include "version.h"
#include "ycsb_report.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t interruption_poll_ns = 50'000'000;  // an interruption is noticed at most this much later

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

void throw_if_interrupted() {
  if (interruption() == 0) return;
  throw RunFailure(RunFailure::Kind::interrupted, fmt::format("interrupted ({})", interruption_name()));
}

double rate(std::uint64_t operations, std::uint64_t duration_ns) {
  return duration_ns == 0 ? 0 : static_cast<double>(operations) * 1e9 / static_cast<double>(duration_ns);
}

// With commas between thousands: 30,100.
std::string grouped(double number) {
  if (number < 1000) return fmt::format("{:g}", number);
  auto digits = fmt::format("{:.0f}", number);
  for (auto end = static_cast<std::ptrdiff_t>(digits.size()) - 3; end > 0; end -= 3) {
    digits.insert(static_cast<std::size_t>(end), 1, ',');
  }
  return digits;
}

double to_three_digits(double number) {
  if (number <= 0) return 0;
  const auto unit = std::pow(10, std::floor(std::log10(number)) - 2);
  return std::round(number / unit) * unit;
}

RunFailure::Kind kind_of(const Failure& failure) {
  switch (failure.kind) {
    case Failure::Kind::database:
      return RunFailure::Kind::database;
    case Failure::Kind::wrong_data:
      return RunFailure::Kind::wrong_data;
    case Failure::Kind::system:
      return RunFailure::Kind::system;
  }
  return RunFailure::Kind::system;
}

// How long the rate takes for the operations done. If the time limit ended the run (cut), only the part of the schedule
// in proportion to the operations done counts. Failed operations take time and do not count as done.
std::uint64_t scheduled_ns(const RateSchedule& schedule, const Outcome& outcome, std::uint64_t active_ns, bool cut) {
  const auto succeeded = static_cast<double>(outcome.succeeded);
  const auto scaled = [](std::uint64_t time_ns, double share) {
    return static_cast<std::uint64_t>(static_cast<double>(time_ns) * std::min(1.0, share));
  };
  if (cut) {
    const auto due = schedule.operations_until(active_ns);
    return due < 1 ? active_ns : scaled(active_ns, succeeded / due);
  }
  const auto done = outcome.done();
  return done == 0 ? 0 : scaled(schedule.duration_ns(done), succeeded / static_cast<double>(done));
}

// One execution of the command. The steps follow the order of the schema.
class Execution {
 public:
  Execution(const Invocation& invocation, EventLog& log)
      : invocation_(invocation),
        log_(log),
        progress_(invocation),
        work_(invocation.workload->begin(invocation.seed, invocation.threads, invocation.workload->verify)),
        database_(invocation.adapter->make()) {
    work_->keeps_nothing = invocation.adapter->name == "noop";
  }

  void carry_out();

 private:
  void open_database(EventSink sink);
  void drop_caches_of_database();
  void open();
  void stand_still(std::string_view place, double seconds, bool settled);
  void keep_step();
  void warm_up();
  void drive();
  void check_failures() const;
  void check_gap() const;
  void check_rate() const;
  void check_load();
  void settle();
  Settled settle_database();
  void calibrate();
  void close();
  [[nodiscard]] Json driver_share() const;
  void note_what_went_wrong(std::uint64_t not_found, const std::vector<FailureCause>& causes) const;
  void report();
  void write_report(const std::optional<std::string>& checksum) const;

  void phase(std::string_view name, std::uint64_t monotonic_ns) {
    log_.write("phase", monotonic_ns, {{"phase", name}});
  }
  [[nodiscard]] std::map<std::string, std::string> workload_in_force() const;
  [[nodiscard]] Json update_semantics() const;
  void write_database_events();
  void watch_interval(std::uint64_t end_ns);
  void write_interval(std::uint64_t now_ns, const Usage& used, const Measurements& measured);
  void check_interruption();
  [[nodiscard]] std::uint64_t next_look_ns(std::uint64_t interval_end_ns) const;
  [[nodiscard]] std::optional<std::uint64_t> checksum() const;
  [[nodiscard]] std::optional<std::uint64_t> count_records() const {
    return database_->record_count(nanoseconds(invocation_.settle_timeout_s));
  }
  [[nodiscard]] Json server_cpu() const {
    return or_null(difference(server_cpu_begin_ns_, database_->server_cpu_ns()));
  }
  [[nodiscard]] const RateSchedule* schedule() const { return invocation_.schedule ? &*invocation_.schedule : nullptr; }
  [[nodiscard]] Usage usage() const { return usage_since(usage_begin_, usage_now(device_)); }

  const Invocation& invocation_;
  EventLog& log_;
  Progress progress_;
  EventQueue database_events_;
  std::unique_ptr<Work> work_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<TraceWriter> trace_;  // nullptr: no recording
  std::unique_ptr<Crew> crew_;
  std::optional<std::string> device_;

  Usage usage_begin_;
  std::optional<std::uint64_t> server_cpu_begin_ns_;
  Usage settled_usage_;
  bool settled_ = false;
  std::uint64_t rss_peak_bytes_ = 0;
  std::uint64_t active_begin_ns_ = 0;
  std::uint64_t active_end_ns_ = 0;
  std::optional<std::uint64_t> scheduled_ns_;  // nullopt: no rate was given
  std::uint64_t interval_begin_ns_ = 0;
  std::optional<std::uint64_t> records_begin_;
  std::optional<std::uint64_t> records_end_;
  std::vector<std::string> incidents_;
  Outcome interval_begin_;
  Outcome outcome_;

  std::vector<Component> components_begin_;
  Json components_;
  std::optional<IoCounts> io_begin_;
  Json io_;
  std::map<std::string, std::string> database_stats_;
  std::optional<DroppedCaches> caches_;
  std::uint64_t reads_before_write_ = 0;
  Histogram cleanup_;
  std::optional<std::uint64_t> checksum_begin_;
  std::optional<std::uint64_t> checksum_;
  std::optional<std::uint64_t> data_bytes_;
  std::optional<DriverShare> share_;
};

void Execution::carry_out() {
  open();
  keep_step();
  if (invocation_.quiet_before_s > 0) {
    stand_still("before", invocation_.quiet_before_s, settle_database().complete);
  }
  warm_up();
  drive();
  check_failures();
  settle();
  check_load();
  if (invocation_.quiet_after_s > 0) stand_still("after", invocation_.quiet_after_s, settled_);
  keep_step();
  calibrate();
  close();
  report();
}

void Execution::check_interruption() {
  if (interruption() == 0) return;
  work_->stop = true;
  progress_.clear();
  throw_if_interrupted();
}

void Execution::open_database(EventSink sink) {
  database_->open(invocation_.properties, invocation_.durability,
                  invocation_.command == Command::load || invocation_.workload->creates, std::move(sink));
}

// Opens and closes the database before the caches are dropped: opening may replay a log and write files, and the run
// must find the files in the state that it will open.
void Execution::drop_caches_of_database() {
  progress_.note("dropping caches");
  open_database({});
  const std::string path = database_->path();
  const std::string failure = database_->close();
  if (!failure.empty()) throw RunFailure(RunFailure::Kind::database, "closing: " + failure);
  if (path.empty()) {
    throw RunFailure(RunFailure::Kind::usage,
                     fmt::format("--drop-caches: {} has no files on this machine", invocation_.adapter->name));
  }
  caches_ = drop_caches(path);
  database_ = invocation_.adapter->make();
}

void Execution::open() {
  if (invocation_.drop_caches) drop_caches_of_database();
  if (invocation_.record) {
    trace_ = std::make_unique<TraceWriter>(*invocation_.record);
    if (!invocation_.quiet) tell("edgejoule-driver: the figures of this run include the recording of its trace\n");
  }
  progress_.note("opening");
  const auto begin_ns = now_monotonic_ns();
  const auto begin_realtime_ns = now_realtime_ns();
  open_database([this](const DatabaseEvent& event) { database_events_.push(event); });
  crew_ = std::make_unique<Crew>(*work_, *database_, trace_.get());
  const auto path = database_->path();
  if (!path.empty()) device_ = block_device(path);
  log_.write("start", begin_ns,
             {{"schema_version", 1},
              {"realtime_ns", begin_realtime_ns},
              {"driver_version", version},
              {"command", invocation_.command == Command::load ? "load" : "run"},
              {"database",
               {{"name", invocation_.adapter->name},
                {"version", database_->version()},
                {"options", database_->options()},
                {"path", path.empty() ? Json(nullptr) : Json(path)}}},
              {"update_semantics", update_semantics()},
              {"durability", {{"class", name_of(invocation_.durability)}, {"how", database_->durability_how()}}},
              {"workload", workload_in_force()},
              {"threads", invocation_.threads},
              {"target_ops_s", invocation_.schedule ? Json(invocation_.schedule->mean_ops_s()) : Json(nullptr)},
              {"rate", invocation_.schedule ? Json(invocation_.rate) : Json(nullptr)},
              {"seed", invocation_.seed},
              {"clock", work_->clock.name()},
              {"caches", caches_ ? to_json(*caches_) : Json(nullptr)}});
  phase("open", begin_ns);
  check_interruption();
}

// An idle phase: the database is open with a session for each client, and no operation runs. No client thread exists
// yet or any more. settled: the database had settled before.
void Execution::stand_still(std::string_view place, double seconds, bool settled) {
  progress_.note("standing still");
  const auto begin_ns = now_monotonic_ns();
  const auto cpu_begin_ns = process_cpu_ns();
  phase("quiet", begin_ns);
  sleep_until(begin_ns + nanoseconds(seconds));
  check_interruption();
  const auto end_ns = now_monotonic_ns();
  const auto cpu_ns = process_cpu_ns() - cpu_begin_ns;
  write_database_events();
  log_.write("quiet_end", end_ns,
             {{"quiet_start_ns", begin_ns}, {"place", place}, {"settled", settled}, {"cpu_ns", cpu_ns}});
}

void Execution::keep_step() {
  if (!invocation_.in_step) return;
  progress_.note("waiting for a line on standard input");
  const bool line_received = wait_for_line();
  check_interruption();
  if (!line_received) throw RunFailure(RunFailure::Kind::io, "--in-step: standard input closed before the run ended");
}

void Execution::warm_up() {
  if (invocation_.warmup_s <= 0) return;
  progress_.note("warming up");
  crew_->prepare(0, schedule());
  const auto begin_ns = crew_->start();
  phase("warmup", begin_ns);
  const auto end_ns = begin_ns + nanoseconds(invocation_.warmup_s);
  for (auto now_ns = begin_ns; now_ns < end_ns; now_ns = now_monotonic_ns()) {
    if (crew_->wait(std::min(end_ns - now_ns, interruption_poll_ns))) break;
    check_interruption();
  }
  work_->stop = true;
  crew_->join();
  if (!work_->failure()) work_->stop = false;
  crew_->forget_measurements();
}

void Execution::drive() {
  crew_->prepare(invocation_.workload->clients_end ? 0 : invocation_.workload->operations, schedule());
  checksum_begin_ = checksum();
  if (invocation_.command == Command::load) records_begin_ = count_records();
  components_begin_ = database_->components();
  io_begin_ = database_->io_counts();
  server_cpu_begin_ns_ = database_->server_cpu_ns();
  usage_begin_ = usage_now(device_);
  if (trace_) trace_->start();
  work_->gap.begin(work_->clock.now());
  active_begin_ns_ = interval_begin_ns_ = crew_->start();
  phase("active", active_begin_ns_);
  const auto limit_s = invocation_.workload->seconds_max;
  const auto limit_ns = limit_s > 0 ? active_begin_ns_ + limit_s * 1'000'000'000U : ~std::uint64_t{0};
  bool cut = false;  // by the time limit
  for (bool ended = false; !ended;) {
    const auto interval_end_ns = interval_begin_ns_ + invocation_.interval_ms * 1'000'000U;
    const auto now_ns = now_monotonic_ns();
    const auto wake_ns = std::min({interval_end_ns, limit_ns, now_ns + interruption_poll_ns});
    ended = crew_->wait(wake_ns > now_ns ? wake_ns - now_ns : 0);
    check_interruption();
    const auto later_ns = now_monotonic_ns();
    if (!ended && later_ns >= limit_ns) cut = work_->stop = true;
    if (!ended && later_ns >= interval_end_ns) write_interval(later_ns, usage(), crew_->next_interval());
  }
  active_end_ns_ = crew_->join();
  work_->gap.end(work_->clock.now());
  const auto used = usage();  // before the driver merges histograms and writes events
  write_interval(active_end_ns_, used, crew_->last_interval());
  if (trace_) trace_->finish();
  outcome_ = crew_->outcome();
  if (schedule()) scheduled_ns_ = scheduled_ns(*schedule(), outcome_, active_end_ns_ - active_begin_ns_, cut);
  progress_.end(outcome_.succeeded, static_cast<double>(active_end_ns_ - active_begin_ns_) / 1e9);
  log_.write("active_end", active_end_ns_,
             {{"active_start_ns", active_begin_ns_},
              {"operations", outcome_.succeeded},
              {"scheduled_ns", or_null(scheduled_ns_)},
              {"usage", to_json(used)},
              {"server_cpu_ns", server_cpu()}});
}

std::map<std::string, std::string> Execution::workload_in_force() const {
  auto properties = invocation_.workload->in_force;
  if (invocation_.record) properties["record"] = *invocation_.record;
  properties["failure_share_max"] = fmt::format("{}", invocation_.failure_share_max);
  return properties;
}

// What an update does at the database. null: the workload has no updates.
Json Execution::update_semantics() const {
  if (!invocation_.workload->has_updates) return nullptr;
  if (!database_->update_merges()) return "native";
  return invocation_.workload->update_replaces ? "put" : "merge";
}

// The noop database's checksum of all operations so far.
std::optional<std::uint64_t> Execution::checksum() const {
  if (invocation_.adapter->name != "noop") return std::nullopt;
  return std::stoull(database_->stats().at("checksum"), nullptr, 16);
}

void Execution::write_database_events() {
  for (const auto& event : database_events_.take()) log_.write("database", event.begin_monotonic_ns, to_json(event));
}

void Execution::write_interval(std::uint64_t now_ns, const Usage& used, const Measurements& measured) {
  const auto outcome = crew_->outcome();
  const auto duration_ns = now_ns - interval_begin_ns_;
  const auto succeeded = outcome.succeeded - interval_begin_.succeeded;
  const auto throughput = rate(succeeded, duration_ns);
  const auto planned = invocation_.workload->operations;
  log_.write("interval", now_ns,
             {{"duration_ns", duration_ns},
              {"operations", succeeded},
              {"operations_total", outcome.succeeded},
              {"operations_planned", planned > 0 ? Json(planned) : Json(nullptr)},
              {"failures", outcome.failed - interval_begin_.failed},
              {"throughput_ops_s", throughput},
              {"latencies", interval_latencies(measured)},
              {"usage", to_json(used)}});
  write_database_events();
  progress_.show(invocation_.command == Command::load ? "load" : "run", outcome.succeeded,
                 static_cast<double>(now_ns - active_begin_ns_) / 1e9, throughput, measured);
  interval_begin_ns_ = now_ns;
  interval_begin_ = outcome;
}

Settled Execution::settle_database() {
  try {
    return database_->settle(nanoseconds(invocation_.settle_timeout_s));
  } catch (const DatabaseError& failure) {
    check_interruption();
    write_database_events();  // the events that preceded the failure
    progress_.clear();
    throw RunFailure(RunFailure::Kind::database, fmt::format("settling: {}", failure.what()));
  }
}

// A run fails if the share of failed operations exceeds the user's limit, because its figures then describe another
// load. Background clients are judged separately, since their operations do not count as done.
void Execution::check_failures() const {
  if (const auto failure = work_->failure()) {
    throw RunFailure(kind_of(*failure), failure->message);
  }
  const auto companions = crew_->outcome_of_companions();
  const auto& worst = companions.failure_share() > outcome_.failure_share() ? companions : outcome_;
  if (worst.failure_share() <= invocation_.failure_share_max) return;
  const auto causes = crew_->measurements().causes.commonest_first();
  throw RunFailure(
      RunFailure::Kind::failures,
      fmt::format("{} of {} operations failed ({:.3g} %), more than failure_share_max = {:.3g} % allows: {}; most "
                  "often ({} times): {}",
                  worst.failed, worst.done(), 100 * worst.failure_share(), 100 * invocation_.failure_share_max,
                  failures_by_status(causes), causes.front().count, causes.front().message));
}

void Execution::settle() {
  progress_.note("settling");
  phase("settle", active_end_ns_);
  const auto settled = settle_database();
  const auto settled_ns = now_monotonic_ns();
  settled_ = settled.complete;
  settled_usage_ = usage();
  components_ = components_between(components_begin_, database_->components());
  io_ = io_between(io_begin_, database_->io_counts());
  rss_peak_bytes_ = rss_peak_bytes();  // before the driver's share is measured, which uses memory itself
  write_database_events();
  log_.write("settled", settled_ns,
             {{"complete", settled.complete},
              {"how", settled.how},
              {"usage", to_json(settled_usage_)},
              {"server_cpu_ns", server_cpu()}});
  check_interruption();
}

// After a load the database must hold every acknowledged record. A server that was restarted or that evicts records may
// have lost some without a failed operation.
void Execution::check_load() {
  incidents_ = database_->incidents();
  if (invocation_.command != Command::load) return;
  progress_.note("counting the records");
  records_end_ = count_records();
  const auto inserted = outcome_.succeeded;
  std::string counted;
  bool lost = false;
  if (records_begin_ && records_end_ && invocation_.workload->each_key_once) {
    const auto most = *records_begin_ + inserted;
    const auto least = database_->insert_replaces() ? std::max(*records_begin_, inserted) : most;
    lost = *records_end_ < least || *records_end_ > most;
    counted = fmt::format("{} records before, {} inserted and acknowledged, {} now", *records_begin_, inserted,
                          *records_end_);
  }
  progress_.clear();
  if (!lost && incidents_.empty()) return;
  const auto befell = incidents_.empty() ? std::string() : fmt::format("{}", fmt::join(incidents_, "; "));
  if (lost) {
    throw RunFailure(RunFailure::Kind::wrong_data,
                     fmt::format("the load is not complete: {}{}{}", counted, befell.empty() ? "" : "; ", befell));
  }
  throw RunFailure(RunFailure::Kind::database,
                   fmt::format("the load may have lost records: {}{}{}", befell, counted.empty() ? "" : "; ", counted));
}

void Execution::calibrate() {
  if (!invocation_.driver_share || outcome_.succeeded == 0) return;
  progress_.note("measuring the driver's share");
  phase("driver_share", now_monotonic_ns());
  share_ = measure_driver_share(invocation_, outcome_.succeeded);
}

void Execution::close() {
  progress_.note("closing");
  phase("close", now_monotonic_ns());
  const auto path = database_->path();
  reads_before_write_ = crew_->reads_before_write();
  // The checksum is a sum over operations, so the warm-up's part can be subtracted.
  if (const auto sum = checksum()) checksum_ = *sum - checksum_begin_.value_or(0);
  if (!path.empty()) data_bytes_ = data_bytes(path);
  cleanup_ = crew_->close_sessions();
  database_stats_ = database_->stats();  // some databases count by session and add up when the session ends
  const auto failure = database_->close();
  write_database_events();
  progress_.clear();
  if (!failure.empty()) throw RunFailure(RunFailure::Kind::database, "closing: " + failure);
}

void Execution::check_gap() const {
  const auto gap_s = static_cast<double>(work_->gap.longest_ns()) / 1e9;
  if (gap_s <= invocation_.longest_gap_s_max) return;
  tell("edgejoule-driver: no operation succeeded for {:.3g} s, from {:.3g} s on (longest_gap_s_max = {} s)\n", gap_s,
       static_cast<double>(work_->gap.longest_begin_ns()) / 1e9, invocation_.longest_gap_s_max);
}

void Execution::check_rate() const {
  constexpr double share_min = 0.99;
  const auto active_ns = active_end_ns_ - active_begin_ns_;
  const auto scheduled_ns = scheduled_ns_.value_or(active_ns);
  if (static_cast<double>(scheduled_ns) >= share_min * static_cast<double>(active_ns)) return;
  const auto* const where = !invocation_.json ? "the lines [Intended-...] with -p measurement.interval=both"
                                              : "the events' latencies of the measure intended";
  if (schedule()->is_constant()) {
    tell("edgejoule-driver: does not sustain {}/s, reached {}; latencies from the due time are in {}\n",
         grouped(schedule()->mean_ops_s()), grouped(to_three_digits(rate(outcome_.succeeded, active_ns))), where);
  } else {
    tell(
        "edgejoule-driver: does not sustain {}: the operations took {:.3g} s, at the rate {:.3g} s; latencies "
        "from "
        "the due time are in {}\n",
        invocation_.rate, static_cast<double>(active_ns) / 1e9, static_cast<double>(scheduled_ns) / 1e9, where);
  }
}

// Null if it was not measured.
Json Execution::driver_share() const {
  const auto run_cpu_ns = settled_usage_.cpu_ns();
  if (!share_ || !run_cpu_ns) return nullptr;
  const auto run_cpu_ns_per_op = static_cast<double>(*run_cpu_ns) / static_cast<double>(outcome_.succeeded);
  const auto part = std::min(1.0, share_->driver_cpu_ns_per_op / std::max(run_cpu_ns_per_op, 1.0));
  if (part > invocation_.driver_share_max && !invocation_.quiet) {
    tell("edgejoule-driver: the driver's share of the CPU time is {:.0f} %, above the bound of {:.0f} %\n", part * 100,
         invocation_.driver_share_max * 100);
  }
  return {{"operations", share_->operations},       {"driver_cpu_ns_per_op", share_->driver_cpu_ns_per_op},
          {"run_cpu_ns_per_op", run_cpu_ns_per_op}, {"share", part},
          {"bound", invocation_.driver_share_max},  {"exceeded", part > invocation_.driver_share_max}};
}

void Execution::note_what_went_wrong(std::uint64_t not_found, const std::vector<FailureCause>& causes) const {
  if (invocation_.quiet) return;
  if (not_found > 0) {
    tell("edgejoule-driver: {} operations addressed a missing record: does recordcount match the load?\n", not_found);
  }
  if (outcome_.failed > 0) {
    tell("edgejoule-driver: {} of {} operations failed and are in no figure: {}; most often ({} times): {}\n",
         outcome_.failed, outcome_.done(), failures_by_status(causes), causes.front().count, causes.front().message);
  }
  check_gap();
  check_rate();
  for (const auto& incident : incidents_) tell("edgejoule-driver: {}\n", one_line(incident));
}

void Execution::report() {
  const auto& measured = crew_->measurements();
  const auto share = driver_share();
  const auto not_found = measured.calls_that_returned(Status::not_found);
  const auto causes = measured.causes.commonest_first();
  note_what_went_wrong(not_found, causes);
  const auto checksum = checksum_ ? std::optional(fmt::format("{:016x}", *checksum_)) : std::nullopt;
  log_.write(
      "end", now_monotonic_ns(),
      {{"realtime_ns", now_realtime_ns()},
       {"operations", outcome_.succeeded},
       {"failures", outcome_.failed},
       {"failure_causes", to_json(causes)},
       {"not_found", not_found},
       {"verify_failures", measured.of(Operation::verify).returns[static_cast<std::size_t>(Status::unexpected_state)]},
       {"throughput_ops_s", rate(outcome_.succeeded, active_end_ns_ - active_begin_ns_)},
       {"longest_gap_ns", work_->gap.longest_ns()},
       {"longest_gap_start_ns", active_begin_ns_ + work_->gap.longest_begin_ns()},
       {"payload_read_bytes", measured.payload_read_bytes},
       {"payload_write_bytes", measured.payload_write_bytes},
       {"read_before_write", reads_before_write_},
       {"rss_peak_bytes", rss_peak_bytes_},
       {"data_bytes", or_null(data_bytes_)},
       {"records_before", or_null(records_begin_)},
       {"records", or_null(records_end_)},
       {"incidents", incidents_},
       {"checksum", or_null(checksum)},
       {"latencies", latencies(measured)},
       {"components", components_},
       {"io", io_},
       {"database_stats", database_stats_},
       {"driver_share", share}});
  write_report(checksum);
}

// Writes to standard output unless a file is named. Writes nothing there if the events go to standard output.
void Execution::write_report(const std::optional<std::string>& checksum) const {
  const auto& options = invocation_.report;
  if (options.file.empty() && invocation_.json == "-") return;
  auto text =
      ycsb_report(options, crew_->measurements(), cleanup_, outcome_.succeeded, active_end_ns_ - active_begin_ns_);
  // Not a line of the report: parsers of YCSB's output expect a number after the brackets.
  if (options.format == ReportFormat::text && checksum) text += fmt::format("noop: checksum {}\n", *checksum);
  const auto where = options.file.empty() ? "standard output" : options.file;
  std::FILE* const out = options.file.empty() ? stdout : std::fopen(options.file.c_str(), "w");
  const bool written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool flushed = out != nullptr && std::fflush(out) == 0;
  const bool closed = out != nullptr && (out == stdout || std::fclose(out) == 0);
  if (!written || !flushed || !closed) {
    throw RunFailure(RunFailure::Kind::io,
                     fmt::format("the report cannot be written to {}: {}", where, std::strerror(errno)));
  }
}

}  // namespace

void carry_out(const Invocation& invocation, EventLog& events) {
  try {
    Execution(invocation, events).carry_out();
  } catch (const DatabaseError& error) {
    throw_if_interrupted();  // an interruption ends waiting for a server
    throw RunFailure(RunFailure::Kind::database, error.what());
  }
}

}  // namespace edgejoule::driver
