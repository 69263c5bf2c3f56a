// The entries that RocksDB calls: before a job, while it waits, and after its end. No exception may reach RocksDB.
#include <fmt/format.h>
#include <rocksdb/listener.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attempts.h"
#include "check.h"
#include "compaction_text.h"
#include "compat.h"
#include "eco.h"
#include "learning.h"
#include "monitor.h"
#include "policy.h"
#include "portable.h"

namespace eco {
namespace {

constexpr std::size_t reasons_max = 100;

// The level 0 state in the request to the placer.
void fill(proto::LevelZero& message, const CompactionInput& input, const LevelZero& level_zero) {
  const double files_s = level_zero.files_s, flush_bytes = number_option(input.cf_options, "write_buffer_size");
  message.set_files(level_zero.files), message.set_files_s(files_s);
  const double slowdown = number_option(input.cf_options, "level0_slowdown_writes_trigger");
  const double stop = number_option(input.cf_options, "level0_stop_writes_trigger");
  message.set_slowdown(slowdown), message.set_stop(stop);
  // The paper's threshold is 20 files, RocksDB's default for level0_slowdown_writes_trigger.
  message.set_stall(slowdown > 0 ? std::min(slowdown, stop) : stop);
  message.set_trigger(number_option(input.cf_options, "level0_file_num_compaction_trigger"));
  const double rate = files_s * flush_bytes, delayed_rate = number_option(input.db_options, "delayed_write_rate");
  message.set_delayed(rate > delayed_rate ? 1 - delayed_rate / rate : 0);
}

class Service final : public PortableCompactionService, public CompactionService {
 public:
  explicit Service(const Settings& settings) : settings_(settings) {
    form_ = text_form(release_);
    if (!same_release(release_, compiled_release()))
      unusable_ = fmt::format("eco was built for RocksDB {}, this is {}", compiled_release(), release_);
    else if (!form_)
      unusable_ = fmt::format("eco does not support the compaction results of RocksDB {}", release_);
    if (!settings_.placer) unusable_ = "no placer is given";
  }

  [[nodiscard]] const char* Name() const override { return "eco"; }

  [[nodiscard]] Statistics statistics() const override { return attempts_.statistics(); }

  void offload(bool on) override {
    offload_ = on;
    if (!on) attempts_.give_up_all("offloading was switched off");
  }

  Monitor& monitor() { return monitor_; }

  // From now on every job is compacted locally. Jobs at workers are given up.
  void end_use(const Mistake& mistake) noexcept try {
    {
      const std::lock_guard lock(mutex_);
      if (unusable_.empty()) unusable_ = mistake.what();
    }
    attempts_.give_up_all(mistake.what());
  } catch (...) {
    return;
  }

  // Called when a compaction has ended, local or offloaded.
  void ended(rocksdb::DB& db, const rocksdb::CompactionJobInfo& info) noexcept try {
    const auto begun = monitor_.begun(db.GetName(), info.job_id);
    monitor_.on_end(db, info);
    if (!begun) return;
    std::vector<std::string> placed_here = take_placed_here(db.GetName(), info.job_id);
    Attempts::Ended ended = attempts_.ended(db.GetName(), info);
    // A trivial move rewrites nothing, so it is no sample for the predictor.
    if (!ended.elsewhere && info.status.ok() && info.stats.elapsed_micros > 0) {
      ended.reports.push_back(learning_.learn_local(*begun, info));
      if (!placed_here.empty()) ended.reports.back().set_job(std::exchange(placed_here.back(), ""));
    }
    // Further reports are parts of the same compaction, whose time counts once.
    for (const auto& id : placed_here)
      if (!id.empty()) {
        auto& part = ended.reports.emplace_back();
        part.set_job(id), part.set_outcome("local");
      }
    if (ended.elsewhere) attempts_.clean(*begun->files, db.GetName());
    for (const auto& report : ended.reports) settings_.placer->report(report);
  } catch (const Mistake& mistake) {
    end_use(mistake);
  } catch (...) {
    return;  // RocksDB must not see our exceptions; the reports are lost
  }

 protected:
  bool start(const Info& info, const std::string& input) noexcept override try {
    begin(info, input);
    return true;
  } catch (const NotOffloadable& why) {
    return kept(info, why.reason, why.placer_s);
  } catch (const Mistake& mistake) {
    end_use(mistake);
    return kept(info, mistake.what());
  } catch (const std::exception& error) {
    return kept(info, error.what());
  } catch (...) {
    return kept(info, "an unknown exception");
  }

  void cancel() noexcept override try { attempts_.give_up_all("a database closes"); } catch (...) {
    return;
  }

  bool wait(const std::string& id, std::string* result) noexcept override try {
    return attempts_.wait(id, *result);
  } catch (const Mistake& mistake) {
    end_use(mistake);
    return false;
  } catch (...) {
    return false;
  }

 private:
  static int number_of(const Info& info) { return static_cast<int>(info.job_id >> 32); }

  // Throws NotOffloadable or another exception.
  void begin(const Info& info, const std::string& text) {
    const auto begun = monitor_.begun(info.db_name, number_of(info));
    if (!begun) throw NotOffloadable{"it is not of level 0"};
    attempts_.count([](Statistics& s) { ++s.asked; });
    if (!offload_) throw NotOffloadable{"offloading is switched off"};
    if (std::string why = unusable(); !why.empty()) throw NotOffloadable{std::move(why)};
    if (begun->output_level == 0) throw NotOffloadable{"it stays in level 0"};
    if (!begun->unsuited.empty()) throw NotOffloadable{begun->unsuited};
    const PortableJob job = portable_job(settings_, *form_, info.db_name, text, *begun);
    const Attempts::Ask ask{.id = id_of(info), .database = info.db_name, .number = number_of(info)};
    const proto::Placement placement = settings_.placer->place(question(ask.id, job, *begun));
    if (!placement.offload() || placement.shadow()) note_placed_here(info, ask.id);
    if (!placement.offload()) throw NotOffloadable{.reason = placement.reason(), .placer_s = true};
    if (placement.shadow())
      throw NotOffloadable{.reason = "shadow mode; else: " + placement.reason(), .placer_s = true};
    attempts_.launch(ask, placement, job, *form_, *begun, text);
  }

  [[nodiscard]] proto::PlaceRequest question(const std::string& id, const PortableJob& job, const Begun& begun) const {
    proto::PlaceRequest request;
    request.set_job(id), request.set_rocksdb(release_), request.set_tls(!settings_.tls.none());
    eco::fill(*request.mutable_features(), job.features);
    attempts_.describe(request, begun.db->GetName());
    fill(*request.mutable_level_zero(), job.input, begun.level_zero);
    return request;
  }

  void note_placed_here(const Info& info, const std::string& id) {
    const std::lock_guard lock(mutex_);
    placed_here_[{info.db_name, number_of(info)}].push_back(id);
  }

  [[nodiscard]] std::string unusable() {
    const std::lock_guard lock(mutex_);
    return unusable_;
  }

  std::vector<std::string> take_placed_here(const std::string& database, int number) {
    const std::lock_guard lock(mutex_);
    auto ids = placed_here_.extract({database, number});
    return ids ? std::move(ids.mapped()) : std::vector<std::string>();
  }

  bool kept(const Info& info, const std::string& reason, bool placer_s = false) noexcept try {
    const auto begun = monitor_.begun(info.db_name, number_of(info));
    if (!begun) return false;
    const std::string id = id_of(info);
    attempts_.count([&](Statistics& s) {
      ++s.kept;
      s.last_reason = reason;
      if (!placer_s && (s.kept_by.size() < reasons_max || s.kept_by.contains(reason))) ++s.kept_by[reason];
    });
    if (!placer_s) note_placed_here(info, id);
    rocksdb::Log(rocksdb::InfoLogLevel::INFO_LEVEL, begun->log, "[eco] job %s: compacted here: %s", id.c_str(),
                 reason.c_str());
    if (placer_s || !settings_.placer) return false;
    proto::JobReport report;
    report.set_job(id), report.set_kept(reason);
    eco::fill(*report.mutable_features(), begun->features);
    settings_.placer->report(report);
    return false;
  } catch (...) {
    return false;
  }

  const Settings settings_;
  const std::string release_ = rocksdb::GetRocksVersionAsString(true);
  std::optional<TextForm> form_;
  Monitor monitor_;
  Learning learning_{settings_};
  Attempts attempts_{settings_, learning_, release_};
  std::atomic<bool> offload_ = true;

  std::mutex mutex_;
  std::string unusable_;                                                         // why; empty: it is usable
  std::map<std::pair<std::string, int>, std::vector<std::string>> placed_here_;  // ids of local jobs
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
  // RocksDB must not see exceptions. A job that cannot be recorded stays local.
  template <typename Work>
  void guarded(Work work) noexcept try {
    work();
  } catch (const Mistake& mistake) {
    service_->end_use(mistake);
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
