#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <rocksdb/listener.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "backoff.h"
#include "compaction_text.h"
#include "compat.h"
#include "eco.h"
#include "job_options.h"
#include "monitor.h"
#include "policy.h"
#include "portability.h"
#include "remote_job.h"
#include "subcompaction.h"
#include "tcp.h"

namespace eco {
namespace {

using Clock = std::chrono::steady_clock;

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

constexpr std::chrono::minutes data_pause{1};
constexpr std::size_t reasons_max = 100;

// Keeps a job here, with the reason.
struct Keep {
  std::string reason;
  bool placer_s = false;  // the placer's decision, which it knows
};

const std::string& option(const rocksdb_text::Fields& options, const char* name) {
  const auto found = options.find(name);
  if (found == options.end()) throw Keep{fmt::format("RocksDB does not tell {}", name)};
  return found->second;
}

double number_option(const rocksdb_text::Fields& options, const char* name) {
  return rocksdb_text::number<double>(option(options, name)).value_or(0);
}

void fill(proto::JobFeatures& message, const Job& job) {
  message.set_input_bytes(job.input_bytes), message.set_input_entries(job.input_entries), message.set_codec(job.codec);
}

std::uint64_t part(std::uint64_t whole, double share) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(whole) * share));
}

class Service final : public PortableCompactionService, public CompactionService {
 public:
  explicit Service(const Settings& settings) : settings_(settings), credentials_(channel_credentials(settings.tls)) {
    const std::string runtime = rocksdb::GetRocksVersionAsString(true);
    release_ = runtime, form_ = text_form(runtime);
    if (!same_release(runtime, compiled_release()))
      unusable_ = fmt::format("eco was built for RocksDB {}, this is {}", compiled_release(), runtime);
    else if (!form_)
      unusable_ = fmt::format("eco does not know the results of RocksDB {}", runtime);
    if (!settings_.placer) unusable_ = "no placer is given";
  }

  [[nodiscard]] const char* Name() const override { return "eco"; }

  [[nodiscard]] Statistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

  void offload(bool on) override {
    const std::lock_guard lock(mutex_);
    offload_ = on;
    if (!on) give_up_all("offloading was switched off");
  }

  Monitor& monitor() { return monitor_; }

  // The compaction has ended, whoever did it.
  void ended(rocksdb::DB& db, const rocksdb::CompactionJobInfo& info) noexcept try {
    const auto begun = monitor_.begun(db.GetName(), info.job_id);
    monitor_.on_end(db, info);
    if (!begun) return;
    std::vector<proto::JobReport> reports;
    bool here = true;
    std::vector<std::string> placed_here;
    {
      const std::lock_guard lock(mutex_);
      if (auto ids = placed_here_.extract({db.GetName(), info.job_id})) placed_here = std::move(ids.mapped());
      for (auto job = jobs_.begin(); job != jobs_.end();) {
        if (job->second.database != db.GetName() || job->second.number != info.job_id) {
          ++job;
          continue;
        }
        here = false;
        if (job->second.accepted) {
          job->second.report.set_outcome(info.status.ok() ? "installed" : "refused: " + info.status.ToString());
          ++statistics_.installed;
          reports.push_back(std::move(job->second.report));
        }
        job = jobs_.erase(job);
      }
      if (fell_back_.erase({db.GetName(), info.job_id}) > 0) here = false;
    }
    // A move of tables takes no time and says nothing.
    if (here && info.status.ok() && info.stats.elapsed_micros > 0) {
      reports.push_back(learn_local(*begun, info));
      if (!placed_here.empty()) reports.back().set_job(std::exchange(placed_here.back(), ""));
    }
    // Further ones are parts of the same compaction, whose time is reported once.
    for (const auto& id : placed_here)
      if (!id.empty()) {
        auto& part = reports.emplace_back();
        part.set_job(id), part.set_outcome("local");
      }
    if (!here) clean(*begun->files, db.GetName());
    for (const auto& report : reports) settings_.placer->report(report);
  } catch (...) {
    return;  // nothing of it concerns RocksDB
  }

 protected:
  bool start(const Info& info, const std::string& input) noexcept override try {
    begin(info, input);
    return true;
  } catch (const Keep& keep) {
    return kept(info, keep.reason, keep.placer_s);
  } catch (const std::exception& error) {
    return kept(info, error.what());
  } catch (...) {
    return kept(info, "an unknown exception");
  }

  void cancel() noexcept override try {
    const std::lock_guard lock(mutex_);
    give_up_all("a database closes");
  } catch (...) {
    return;
  }

  bool wait(const std::string& id, std::string* result) noexcept override try {
    const std::shared_ptr<RemoteJob> remote = remote_of(id);
    if (!remote) return false;
    RemoteJob::Outcome outcome = remote->wait();
    if (!settle(id, outcome)) return false;
    *result = std::move(outcome.result);
    return true;
  } catch (...) {
    return false;
  }

 private:
  struct Tracked {
    std::string database, address;
    int number = 0;
    std::shared_ptr<rocksdb::FileSystem> files;
    std::shared_ptr<rocksdb::Logger> log;
    std::shared_ptr<RemoteJob> remote;
    proto::JobReport report;
    bool accepted = false;  // RocksDB is installing it
  };

  // mutex_ is held.
  void give_up_all(const char* why) {
    for (auto& [id, job] : jobs_)
      if (job.remote) job.remote->cancel(why);
  }

  static int number_of(const Info& info) { return static_cast<int>(info.job_id >> 32); }

  // A job that a worker may have.
  struct AskedJob {
    CompactionInput input{};
    proto::TableOptions objects{};
    const rocksdb::ColumnFamilyOptions* opened = nullptr;
    Job features{};
  };

  // What the job's column family was opened with. Throws Keep where the application did not tell it.
  const rocksdb::ColumnFamilyOptions& opened_with(const std::string& family, const Begun& begun) const {
    if (family == rocksdb::kDefaultColumnFamilyName) return *begun.default_options;
    const auto told = std::ranges::find(settings_.column_families, family, &rocksdb::ColumnFamilyDescriptor::name);
    if (told == settings_.column_families.end()) throw Keep{"column family " + family + " is not offloaded"};
    return told->options;
  }

  AskedJob read_job(const Info& info, const std::string& text, const Begun& begun) const {
    std::string why;
    auto input = read_input(*form_, text, why);
    if (!input) throw Keep{"its input: " + why};
    auto options = options_of_job(*input, *begun.files, info.db_name, why);
    if (!options) throw Keep{why};
    AskedJob job{.opened = &opened_with(input->column_family, begun)};
    if (std::string elsewhere = tables_elsewhere(job.opened->cf_paths, info.db_name); !elsewhere.empty())
      throw Keep{std::move(elsewhere)};
    why = why_local({*job.opened, begun.default_options->comparator}, *options, settings_.same_code, job.objects);
    if (!why.empty()) throw Keep{why};
    input->db_options = std::move(options->db), input->cf_options = std::move(options->family);
    const double share = share_of(*input, *begun.db, *job.opened->comparator);
    job.features = {.input_bytes = part(begun.features.input_bytes, share),
                    .input_entries = part(begun.features.input_entries, share),
                    .codec = begun.features.codec};
    job.input = *std::move(input);
    return job;
  }

  RemoteJob::Order order_of(const Info& info, const AskedJob& job, const Begun& begun) const {
    RemoteJob::Order order;
    order.tls = !settings_.tls.none();
    order.files = begun.files, order.database = info.db_name;
    order.input_bytes = job.features.input_bytes;
    order.form = *form_;
    order.table_format.env = begun.db->GetEnv();
    order.table_format.comparator = job.opened->comparator;
    order.table_format.merge_operator = job.opened->merge_operator;
    auto& expected = order.expected;
    expected.output_level = job.input.output_level;
    expected.comparator = job.opened->comparator;
    expected.latest_sequence = begun.latest_sequence;
    if (job.input.has_begin) expected.begin = job.input.begin;
    if (job.input.has_end) expected.end = job.input.end;
    // A compaction makes no entries. What a snapshot lets go, a merge takes in or a filter drops is not counted whole.
    // RocksDB counts a range deletion that it drops once for each table that it would be in, so there is no bound.
    if (begun.input_records && !begun.range_deletions) expected.entries_max = begun.features.input_entries;
    const bool filtered = job.opened->compaction_filter != nullptr || job.opened->compaction_filter_factory != nullptr;
    expected.accountable =
        begun.countable && !job.input.has_snapshots && job.opened->merge_operator == nullptr && !filtered;
    if (!job.input.has_begin && !job.input.has_end) expected.input_records = begun.input_records;
    auto& start = order.start;
    start.set_database(info.db_name), start.set_rocksdb(release_);
    fill(*start.mutable_features(), job.features);
    if (const auto folder = shared_folder(*begun.files, info.db_name)) start.mutable_shared()->set_folder(*folder);
    *start.mutable_table() = job.objects;
    return order;
  }

  // Throws Keep, or whatever else goes wrong.
  void begin(const Info& info, const std::string& text) {
    auto begun = monitor_.begun(info.db_name, number_of(info));
    if (!begun) throw Keep{"it is not of level 0"};
    {
      const std::lock_guard lock(mutex_);
      ++statistics_.asked;
      if (!offload_) throw Keep{"offloading is switched off"};
    }
    if (!unusable_.empty()) throw Keep{unusable_};
    if (begun->output_level == 0) throw Keep{"it stays in level 0"};
    if (!begun->unsuited.empty()) throw Keep{begun->unsuited};
    const AskedJob job = read_job(info, text, *begun);
    const std::string id = id_of(info);
    const proto::PlaceRequest request = question(id, job.input, *begun, job.features);
    const proto::Placement placement = settings_.placer->place(request);
    if (!placement.offload() || placement.shadow()) {
      const std::lock_guard lock(mutex_);
      placed_here_[{info.db_name, number_of(info)}].push_back(id);
    }
    if (!placement.offload()) throw Keep{.reason = placement.reason(), .placer_s = true};
    if (placement.shadow()) throw Keep{.reason = "shadow mode; else: " + placement.reason(), .placer_s = true};

    RemoteJob::Order order = order_of(info, job, *begun);
    order.start.set_input(text);
    Tracked tracked;
    tracked.database = info.db_name, tracked.number = number_of(info);
    tracked.files = begun->files, tracked.log = begun->log;
    if (first_of(info.db_name)) clean(*begun->files, info.db_name);
    launch(id, placement, std::move(order), std::move(tracked));
  }

  void launch(const std::string& id, const proto::Placement& placement, RemoteJob::Order order, Tracked tracked) {
    order.worker = channel(placement.address());
    order.data_host = data_host(placement.address());
    order.staging = id;
    auto& start = order.start;
    start.set_job(id), start.set_token(placement.token()), start.set_epoch(placement.epoch());
    const auto& features = start.features();
    order.limits = limits(
        placement,
        {.input_bytes = features.input_bytes(), .input_entries = features.input_entries(), .codec = features.codec()});
    tracked.address = placement.address();
    auto& report = tracked.report;
    report.set_job(id), report.set_server(placement.server()), report.set_tls(order.tls);
    *report.mutable_features() = features;
    const std::lock_guard lock(mutex_);
    refusals_[tracked.database].began(placement.server(), now_s());
    Tracked& here = jobs_[id] = std::move(tracked);  // the janitor spares its folder from now on
    try {
      here.remote = std::make_shared<RemoteJob>(std::move(order));
    } catch (...) {
      jobs_.erase(id);
      throw;
    }
  }

  proto::PlaceRequest question(const std::string& id, const CompactionInput& input, const Begun& begun,
                               const Job& features) {
    proto::PlaceRequest request;
    request.set_job(id), request.set_rocksdb(release_), request.set_tls(!settings_.tls.none());
    fill(*request.mutable_features(), features);
    {
      const std::lock_guard lock(mutex_);
      request.set_shared(shared_.contains(begun.db->GetName()));
      for (auto& name : refusals_[begun.db->GetName()].avoided(now_s())) request.add_avoid(std::move(name));
    }
    auto& level_zero = *request.mutable_level_zero();
    const double files_s = begun.level_zero.files_s, flush_bytes = number_option(input.cf_options, "write_buffer_size");
    level_zero.set_files(begun.level_zero.files), level_zero.set_files_s(files_s);
    const double slowdown = number_option(input.cf_options, "level0_slowdown_writes_trigger");
    const double stop = number_option(input.cf_options, "level0_stop_writes_trigger");
    level_zero.set_slowdown(slowdown), level_zero.set_stop(stop);
    // The paper's threshold is 20 files, which is RocksDB's default for the trigger from which on writes are slowed.
    level_zero.set_stall(slowdown > 0 ? std::min(slowdown, stop) : stop);
    level_zero.set_trigger(number_option(input.cf_options, "level0_file_num_compaction_trigger"));
    const double rate = files_s * flush_bytes, delayed_rate = number_option(input.db_options, "delayed_write_rate");
    level_zero.set_delayed(rate > delayed_rate ? 1 - delayed_rate / rate : 0);
    return request;
  }

  Patience::Limits limits(const proto::Placement& placement, const Job& features) {
    const std::lock_guard lock(mutex_);
    double local_s = placement.local_s(), expected_s = placement.expected_s();
    if (local_s <= 0) local_s = local_.predict(features).compute_s.upper();
    if (expected_s <= 0) expected_s = remote_.predict(features).compute_s.upper();
    // Without a local compaction to compare with: twice what it takes there.
    double usual_s = local_s > 0 ? std::max(local_s, expected_s) : 2 * expected_s;
    if (usual_s > 0) usual_s = std::max(1.0, usual_s);  // below it, it is noise
    // A worker speaks five times a second. Silence is waited for as long as a compaction here takes at most.
    const double slow_bytes_s = 10e6;  // of a small board's compaction, where none was seen yet
    const double here_s = local_s > 0 ? local_s : static_cast<double>(features.input_bytes) / slow_bytes_s;
    const double silence_s = std::max(1.5, here_s);  // a process begins first
    return {.heartbeat_s = std::min(settings_.heartbeat_s, silence_s),
            .standstill_s = settings_.standstill_s,
            .total_s = settings_.job_s_max,
            .usual_s = usual_s};
  }

  std::shared_ptr<grpc::Channel> channel(const std::string& address) {
    if (settings_.tls.none() && !is_loopback(address)) throw Keep{address + ": beyond loopback a worker wants TLS"};
    const std::lock_guard lock(mutex_);
    auto& known = channels_[address];
    if (!known) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
      arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
      // A worker that comes back is used again soon.
      arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
      known = grpc::CreateCustomChannel(address, credentials_, arguments);
    }
    return known;
  }

  // Empty: a firewall, say, stood between a while ago, and is not to cost each job its time.
  std::string data_host(const std::string& address) {
    const std::lock_guard lock(mutex_);
    const auto refused = data_refused_.find(address);
    const bool lately = refused != data_refused_.end() && Clock::now() - refused->second < data_pause;
    return lately ? "" : host_of(address);
  }

  std::shared_ptr<RemoteJob> remote_of(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : found->second.remote;
  }

  // Adds what the job took to its report and to the statistics. mutex_ is held.
  void tally(Tracked& tracked, const RemoteJob::Outcome& outcome) {
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

  void waste(Tracked& tracked, const RemoteJob::Outcome& outcome) {
    tracked.report.set_wasted_s(outcome.wall_s), tracked.report.set_cancelled(outcome.cancelled);
    tracked.report.set_job_refused(outcome.job_refused);
    statistics_.wasted_bytes += outcome.bytes_moved, statistics_.wasted_cpu_s += outcome.worker.cpu_s();
  }

  // Ends the tracking of a job that is over, and reports it. True: its result is accepted.
  bool settle(const std::string& id, const RemoteJob::Outcome& outcome) {
    const bool accepted = outcome.failure.empty();
    Tracked job;
    {
      const std::lock_guard lock(mutex_);
      Tracked& tracked = jobs_.at(id);
      tally(tracked, outcome);
      tracked.accepted = accepted;
      if (!accepted) waste(tracked, outcome);
      job = tracked;
      if (accepted) refusals_[job.database].succeeded(job.report.server());
      if (outcome.job_refused) refusals_[job.database].failed(job.report.server(), outcome.wall_s, now_s());
      if (accepted) {
        if (outcome.bytes_shared > 0)
          shared_.insert(job.database);
        else
          shared_.erase(job.database);
        const auto& features = tracked.report.features();
        remote_.learn({.input_bytes = features.input_bytes(),
                       .input_entries = features.input_entries(),
                       .codec = features.codec()},
                      {.compute_s = outcome.wall_s});
      } else {
        ++statistics_.fell_back;
        statistics_.wasted_s += outcome.wall_s;
        statistics_.last_reason = outcome.failure;
        fell_back_.insert({job.database, job.number});
        jobs_.erase(id);
      }
    }
    if (accepted) {
      rocksdb::Log(rocksdb::InfoLogLevel::INFO_LEVEL, job.log,
                   "[eco] job %s: compacted by %s in %.3f s, %.3f CPU s here", id.c_str(), job.report.server().c_str(),
                   outcome.wall_s, outcome.home_cpu_s);
      return true;
    }
    rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, job.log, "[eco] job %s: %s; compacted here after %.3f s",
                 id.c_str(), outcome.failure.c_str(), outcome.wall_s);
    clean(*job.files, job.database);
    job.report.set_outcome("fell back: " + outcome.failure);
    settings_.placer->report(job.report);
    return false;
  }

  bool kept(const Info& info, const std::string& reason, bool placer_s = false) noexcept try {
    const auto begun = monitor_.begun(info.db_name, number_of(info));
    if (!begun) return false;
    const std::string id = id_of(info);
    {
      const std::lock_guard lock(mutex_);
      ++statistics_.kept;
      statistics_.last_reason = reason;
      if (!placer_s) {
        if (statistics_.kept_by.size() < reasons_max || statistics_.kept_by.contains(reason))
          ++statistics_.kept_by[reason];
        placed_here_[{info.db_name, number_of(info)}].push_back(id);
      }
    }
    rocksdb::Log(rocksdb::InfoLogLevel::INFO_LEVEL, begun->log, "[eco] job %s: compacted here: %s", id.c_str(),
                 reason.c_str());
    if (placer_s || !settings_.placer) return false;
    proto::JobReport report;
    report.set_job(id), report.set_kept(reason);
    fill(*report.mutable_features(), begun->features);
    settings_.placer->report(report);
    return false;
  } catch (...) {
    return false;
  }

  proto::JobReport learn_local(const Begun& begun, const rocksdb::CompactionJobInfo& info) {
    proto::JobReport report;
    const double wall_s = 1e-6 * static_cast<double>(info.stats.elapsed_micros);
    fill(*report.mutable_features(), begun.features);
    report.set_job(std::to_string(info.job_id));
    report.set_wall_s(wall_s), report.set_compute_s(wall_s);
    report.set_cpu_s(1e-6 * static_cast<double>(info.stats.cpu_micros));
    report.set_outcome("local");
    const std::lock_guard lock(mutex_);
    local_.learn(begun.features, {.compute_s = wall_s});
    return report;
  }

  // The database's folder as the system names it, where workers see it, too.
  [[nodiscard]] std::optional<std::string> shared_folder(const rocksdb::FileSystem& files,
                                                         const std::string& database) const {
    if (settings_.shared_directory.empty() || &files != rocksdb::FileSystem::Default().get()) return std::nullopt;
    std::error_code error;
    const std::string root = std::filesystem::canonical(settings_.shared_directory, error).string();
    if (error) return std::nullopt;
    const std::string folder = std::filesystem::canonical(database, error).string();
    if (error || (folder != root && !folder.starts_with(root.ends_with('/') ? root : root + '/'))) return std::nullopt;
    return folder;
  }

  bool first_of(const std::string& database) {
    const std::lock_guard lock(mutex_);
    return seen_.insert(database).second;
  }

  // The janitor: what no job of now owns is an orphan. A job makes its folder while it is tracked.
  void clean(rocksdb::FileSystem& files, const std::string& database) {
    const std::lock_guard lock(mutex_);
    std::set<std::string> keep;
    for (const auto& [id, job] : jobs_) keep.insert(id);
    statistics_.orphans_removed += clean_staging(files, database, keep);
  }

  Settings settings_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
  std::string release_, unusable_;
  std::optional<TextForm> form_;
  Monitor monitor_;

  mutable std::mutex mutex_;
  bool offload_ = true;
  Statistics statistics_;
  CompactionModel local_, remote_;
  std::map<std::string, Tracked> jobs_;                                          // by id
  std::set<std::pair<std::string, int>> fell_back_;                              // until RocksDB has compacted them
  std::map<std::pair<std::string, int>, std::vector<std::string>> placed_here_;  // by their placer: their ids
  std::map<std::string, Backoff> refusals_;  // by database: of workers that refused its jobs for their options
  std::set<std::string> shared_;             // databases whose last job went by a shared folder
  std::set<std::string> seen_;               // databases
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;  // by address
  std::map<std::string, Clock::time_point> data_refused_;           // by address
};

class Listener final : public rocksdb::EventListener {
 public:
  explicit Listener(std::shared_ptr<Service> service) : service_(std::move(service)) {}

  void OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override {
    guarded([&] { service_->monitor().on_flush(*db, info); });
  }
  void OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override {
    guarded([&] { service_->monitor().on_begin(*db, info); });
  }
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override {
    service_->ended(*db, info);
  }

 private:
  // RocksDB knows no exceptions. A job that is not noted stays local.
  template <typename Work>
  static void guarded(Work work) noexcept try {
    work();
  } catch (...) {
    return;
  }

  std::shared_ptr<Service> service_;
};

}  // namespace

std::shared_ptr<CompactionService> attach(rocksdb::DBOptions& options, const Settings& settings) {
  auto service = std::make_shared<Service>(settings);
  options.compaction_service = service;
  options.listeners.push_back(std::make_shared<Listener>(service));
  return service;
}

}  // namespace eco
