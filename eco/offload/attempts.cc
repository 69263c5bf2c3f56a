#include "attempts.h"

#include <grpcpp/create_channel.h>

#include <filesystem>
#include <system_error>

#include "check.h"
#include "credentials.h"
#include "staging.h"
#include "tcp.h"

namespace eco {
namespace {

constexpr std::chrono::minutes data_pause{1};

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The facts that a job's result must match.
Expectation expectation_of(const PortableJob& job, const Begun& begun) {
  Expectation expected;
  expected.output_level = job.input.output_level;
  expected.comparator = job.opened->comparator;
  expected.latest_sequence = begun.latest_sequence;
  if (job.input.has_begin) expected.begin = job.input.begin;
  if (job.input.has_end) expected.end = job.input.end;
  // A compaction creates no entries, so the input count bounds the output. The result's drop counts are incomplete with
  // snapshots, merges and filters, and RocksDB counts a dropped range deletion once per table that it would be in: with
  // range deletions there is no bound.
  if (begun.input_records && !begun.range_deletions) expected.entries_max = begun.features.input_entries;
  const bool filtered = job.opened->compaction_filter != nullptr || job.opened->compaction_filter_factory != nullptr;
  expected.accountable =
      begun.countable && !job.input.has_snapshots && job.opened->merge_operator == nullptr && !filtered;
  if (!job.input.has_begin && !job.input.has_end) expected.input_records = begun.input_records;
  return expected;
}

}  // namespace

Attempts::Attempts(const Settings& settings, Learning& learning, std::string release)
    : settings_(settings),
      learning_(learning),
      release_(std::move(release)),
      credentials_(channel_credentials(settings.tls)) {}

void Attempts::describe(proto::PlaceRequest& request, const std::string& database) const {
  const std::lock_guard lock(mutex_);
  request.set_shared(shared_.contains(database));
  const auto refusals = refusals_.find(database);
  if (refusals == refusals_.end()) return;
  for (auto& name : refusals->second.avoided(now_s())) request.add_avoid(std::move(name));
}

RemoteJob::Order Attempts::order_of(const std::string& database, const PortableJob& job, TextForm form,
                                    const Begun& begun) const {
  RemoteJob::Order order;
  order.tls = !settings_.tls.none();
  order.files = begun.files, order.database = database;
  order.input_bytes = job.features.input_bytes;
  order.form = form;
  order.table_format.env = begun.db->GetEnv();
  order.table_format.comparator = job.opened->comparator;
  order.table_format.merge_operator = job.opened->merge_operator;
  order.expected = expectation_of(job, begun);
  auto& start = order.start;
  start.set_database(database), start.set_rocksdb(release_);
  fill(*start.mutable_features(), job.features);
  if (const auto folder = shared_folder(*begun.files, database)) start.mutable_shared()->set_folder(*folder);
  *start.mutable_table() = job.objects;
  return order;
}

void Attempts::launch(const Ask& ask, const proto::Placement& placement, const PortableJob& job, TextForm form,
                      const Begun& begun, const std::string& text) {
  ECO_CHECK(placement.offload() && !placement.shadow(), ask.id);
  RemoteJob::Order order = order_of(ask.database, job, form, begun);
  if (first_of(ask.database)) clean(*begun.files, ask.database);
  order.worker = channel(placement.address());
  order.data_host = data_host(placement.address());
  order.staging = ask.id;
  auto& start = order.start;
  start.set_input(text);
  start.set_job(ask.id), start.set_token(placement.token()), start.set_epoch(placement.epoch());
  order.limits = learning_.limits(placement, job.features);
  Tracked tracked;
  tracked.database = ask.database, tracked.number = ask.number;
  tracked.address = placement.address();
  tracked.files = begun.files, tracked.log = begun.log;
  auto& report = tracked.report;
  report.set_job(ask.id), report.set_server(placement.server()), report.set_tls(order.tls);
  *report.mutable_features() = start.features();
  begin(ask.id, placement.server(), std::move(order), std::move(tracked));
}

void Attempts::begin(const std::string& id, const std::string& server, RemoteJob::Order order, Tracked tracked) {
  const std::lock_guard lock(mutex_);
  ECO_CHECK(!tracked.remote && !tracked.accepted && tracked.report.job() == id, id, tracked.report.job());
  refusals_[tracked.database].began(server, now_s());
  Tracked& here = jobs_[id] = std::move(tracked);  // from now on clean() spares its folder
  try {
    here.remote = std::make_shared<RemoteJob>(std::move(order));
  } catch (...) {
    jobs_.erase(id);
    throw;
  }
  if constexpr (debug_checks) check_invariants();
}

std::shared_ptr<grpc::Channel> Attempts::channel(const std::string& address) {
  if (settings_.tls.none() && !is_loopback(address))
    throw NotOffloadable{address + ": beyond loopback a worker requires TLS"};
  const std::lock_guard lock(mutex_);
  auto& known = channels_[address];
  if (!known) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    // Reconnects soon to a worker that has restarted.
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
    known = grpc::CreateCustomChannel(address, credentials_, arguments);
  }
  return known;
}

// Empty for a minute after a refused data connection: a firewall would otherwise delay every job.
std::string Attempts::data_host(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto refused = data_refused_.find(address);
  const bool lately = refused != data_refused_.end() && Clock::now() - refused->second < data_pause;
  return lately ? "" : host_of(address);
}

// The canonical path of the database's folder if it lies below shared_directory.
std::optional<std::string> Attempts::shared_folder(const rocksdb::FileSystem& files,
                                                   const std::string& database) const {
  if (settings_.shared_directory.empty() || &files != rocksdb::FileSystem::Default().get()) return std::nullopt;
  std::error_code error;
  const std::string root = std::filesystem::canonical(settings_.shared_directory, error).string();
  if (error) return std::nullopt;
  const std::string folder = std::filesystem::canonical(database, error).string();
  if (error || (folder != root && !folder.starts_with(root.ends_with('/') ? root : root + '/'))) return std::nullopt;
  return folder;
}

bool Attempts::first_of(const std::string& database) {
  const std::lock_guard lock(mutex_);
  return seen_.insert(database).second;
}

void Attempts::clean(rocksdb::FileSystem& files, const std::string& database) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> keep;
  for (const auto& [id, job] : jobs_) keep.insert(id);  // jobs create folders only while tracked
  statistics_.orphans_removed += clean_staging(files, database, keep);
}

void Attempts::give_up_all(const char* why) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, job] : jobs_)
    if (job.remote) job.remote->cancel(why);
}

std::shared_ptr<RemoteJob> Attempts::remote_of(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second.remote;
}

bool Attempts::wait(const std::string& id, std::string& result) {
  const std::shared_ptr<RemoteJob> remote = remote_of(id);
  if (!remote) return false;
  RemoteJob::Outcome outcome = remote->wait();
  Tracked job = settle(id, outcome);
  if (!job.accepted) {
    report_failure(id, outcome, job);
    return false;
  }
  learning_.learn_remote(job_of(job.report.features()), outcome.wall_s);
  rocksdb::Log(rocksdb::InfoLogLevel::INFO_LEVEL, job.log, "[eco] job %s: compacted by %s in %.3f s, %.3f CPU s here",
               id.c_str(), job.report.server().c_str(), outcome.wall_s, outcome.home_cpu_s);
  result = std::move(outcome.result);
  return true;
}

// Accounts for an ended job. An accepted job stays tracked until RocksDB has installed its result.
Attempts::Tracked Attempts::settle(const std::string& id, const RemoteJob::Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  Tracked& tracked = jobs_.at(id);
  ECO_CHECK(tracked.remote && !tracked.accepted, id);
  tally(tracked, outcome);
  tracked.accepted = outcome.failure.empty();
  Backoff& refusals = refusals_[tracked.database];
  if (outcome.job_refused) refusals.failed(tracked.report.server(), outcome.wall_s, now_s());
  if (tracked.accepted) {
    refusals.succeeded(tracked.report.server());
    if (outcome.bytes_shared > 0)
      shared_.insert(tracked.database);
    else
      shared_.erase(tracked.database);
    if constexpr (debug_checks) check_invariants();
    return tracked;
  }
  waste(tracked, outcome);
  Tracked job = std::move(tracked);
  jobs_.erase(id);
  if constexpr (debug_checks) check_invariants();
  return job;
}

void Attempts::check_invariants() const {
  for (const auto& [id, job] : jobs_) {
    ECO_CHECK((job.remote != nullptr) != job.accepted, id, job.accepted);
    ECO_CHECK(job.report.job() == id && !job.database.empty() && !job.address.empty(), id, job.report.job());
  }
  const auto& s = statistics_;
  ECO_CHECK(s.installed + s.fell_back <= s.asked, s.installed, s.fell_back, s.asked);
}

// Adds the job's costs to its report and to the statistics.
void Attempts::tally(Tracked& tracked, const RemoteJob::Outcome& outcome) {
  auto& report = tracked.report;
  report.set_wall_s(outcome.wall_s), report.set_home_cpu_s(outcome.home_cpu_s);
  report.set_bytes_moved(outcome.bytes_moved), report.set_bytes_shared(outcome.bytes_shared);
  report.set_compute_s(outcome.worker.compute_s()), report.set_network_s(outcome.worker.network_s());
  report.set_cpu_s(outcome.worker.cpu_s()), report.set_energy_j(outcome.worker.energy_j());
  statistics_.bytes_moved += outcome.bytes_moved, statistics_.bytes_shared += outcome.bytes_shared;
  statistics_.home_cpu_s += outcome.home_cpu_s;
  if (outcome.data_refused) data_refused_[tracked.address] = Clock::now();
  tracked.remote.reset();
}

void Attempts::waste(Tracked& tracked, const RemoteJob::Outcome& outcome) {
  tracked.report.set_wasted_s(outcome.wall_s), tracked.report.set_cancelled(outcome.cancelled);
  tracked.report.set_job_refused(outcome.job_refused);
  statistics_.wasted_bytes += outcome.bytes_moved, statistics_.wasted_cpu_s += outcome.worker.cpu_s();
  ++statistics_.fell_back;
  statistics_.wasted_s += outcome.wall_s;
  statistics_.last_reason = outcome.failure;
  fell_back_.insert({tracked.database, tracked.number});
}

void Attempts::report_failure(const std::string& id, const RemoteJob::Outcome& outcome, Tracked& job) {
  rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, job.log, "[eco] job %s: %s; compacted here after %.3f s", id.c_str(),
               outcome.failure.c_str(), outcome.wall_s);
  clean(*job.files, job.database);
  job.report.set_outcome("fell back: " + outcome.failure);
  settings_.placer->report(job.report);
}

Attempts::Ended Attempts::ended(const std::string& database, const rocksdb::CompactionJobInfo& info) {
  Ended ended;
  const std::lock_guard lock(mutex_);
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    if (job->second.database != database || job->second.number != info.job_id) {
      ++job;
      continue;
    }
    ended.elsewhere = true;
    if (job->second.accepted) {
      job->second.report.set_outcome(info.status.ok() ? "installed" : "refused: " + info.status.ToString());
      ++statistics_.installed;
      ended.reports.push_back(std::move(job->second.report));
    }
    job = jobs_.erase(job);
  }
  if (fell_back_.erase({database, info.job_id}) > 0) ended.elsewhere = true;
  if constexpr (debug_checks) check_invariants();
  return ended;
}

}  // namespace eco
