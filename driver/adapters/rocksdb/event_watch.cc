#include "event_watch.h"

#include <fmt/format.h>

#include "system/system.h"

namespace edgejoule::driver {
namespace {

using Kind = DatabaseEvent::Kind;

constexpr std::int64_t not_said = -1;

std::int64_t since(std::uint64_t begin_ns) {
  return begin_ns == 0 ? not_said : static_cast<std::int64_t>(now_monotonic_ns() - begin_ns);
}

std::string condition_name(rocksdb::WriteStallCondition condition) {
  switch (condition) {
    case rocksdb::WriteStallCondition::kDelayed:
      return "writes delayed";
    case rocksdb::WriteStallCondition::kStopped:
      return "writes stopped";
    default:
      return "normal";
  }
}

std::string flush_cause(rocksdb::FlushReason reason) {
  switch (reason) {
    case rocksdb::FlushReason::kWriteBufferFull:
      return "memtable full";
    case rocksdb::FlushReason::kManualFlush:
      return "asked for";
    case rocksdb::FlushReason::kShutDown:
      return "shut down";
    default:
      return fmt::format("RocksDB's flush reason {}", static_cast<int>(reason));
  }
}

}  // namespace

void EventWatch::OnFlushBegin(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& info) {
  const std::lock_guard lock(mutex_);
  flushes_[info.job_id] = {now_monotonic_ns(), not_said};
  ++begun_;
}

void EventWatch::OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) {
  if (info.reason != rocksdb::TableFileCreationReason::kFlush || !info.status.ok()) return;
  const std::lock_guard lock(mutex_);
  const auto job = flushes_.find(info.job_id);
  if (job != flushes_.end()) job->second.write_bytes = static_cast<std::int64_t>(info.file_size);
}

void EventWatch::OnFlushCompleted(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& info) {
  const Job job = take(flushes_, info.job_id);
  emit({Kind::flush, job.begin_monotonic_ns, since(job.begin_monotonic_ns), not_said, job.write_bytes,
        fmt::format("job {}: {}", info.job_id, flush_cause(info.flush_reason))});
}

void EventWatch::OnCompactionBegin(rocksdb::DB* /*db*/, const rocksdb::CompactionJobInfo& info) {
  const std::lock_guard lock(mutex_);
  compactions_[info.job_id] = {now_monotonic_ns(), not_said};
  ++begun_;
}

void EventWatch::OnCompactionCompleted(rocksdb::DB* /*db*/, const rocksdb::CompactionJobInfo& info) {
  const Job job = take(compactions_, info.job_id);
  emit({Kind::compaction, job.begin_monotonic_ns, since(job.begin_monotonic_ns),
        static_cast<std::int64_t>(info.stats.total_input_bytes),
        static_cast<std::int64_t>(info.stats.total_output_bytes),
        fmt::format("job {}: {} tables of level {} to {} of level {}: {}", info.job_id, info.input_files.size(),
                    info.base_input_level, info.output_files.size(), info.output_level, info.status.ToString())});
}

void EventWatch::OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) {
  std::optional<Stall> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(stall_);
    if (info.condition.cur != rocksdb::WriteStallCondition::kNormal) {
      stall_ = Stall{now_monotonic_ns(), condition_name(info.condition.cur)};
    }
  }
  if (ended) {
    emit({Kind::stall, ended->begin_monotonic_ns, since(ended->begin_monotonic_ns), not_said, not_said,
          ended->condition});
  }
}

void EventWatch::OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status* error) {
  const std::lock_guard lock(mutex_);
  failure_ = error->ToString();
}

void EventWatch::OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) {
  const std::lock_guard lock(mutex_);
  failure_ = info.new_bg_error.ok() ? "" : info.new_bg_error.ToString();
}

std::uint64_t EventWatch::running() const {
  const std::lock_guard lock(mutex_);
  return flushes_.size() + compactions_.size();
}

std::uint64_t EventWatch::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

std::vector<Component> EventWatch::components() const {
  const std::lock_guard lock(mutex_);
  return {flush_totals_, compaction_totals_};
}

std::string EventWatch::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void EventWatch::close() {
  std::optional<Stall> open_stall;
  {
    const std::lock_guard lock(mutex_);
    open_stall.swap(stall_);
  }
  if (open_stall) {
    emit({Kind::stall, open_stall->begin_monotonic_ns, not_said, not_said, not_said, open_stall->condition});
  }
}

EventWatch::Job EventWatch::take(std::map<int, Job>& jobs, int job_id) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs.find(job_id);
  if (found == jobs.end()) return {0, not_said};
  const Job job = found->second;
  jobs.erase(found);
  return job;
}

void EventWatch::emit(const DatabaseEvent& event) {
  {
    const std::lock_guard lock(mutex_);
    if (event.kind == Kind::flush) add(event, flush_totals_);
    if (event.kind == Kind::compaction) add(event, compaction_totals_);
  }
  if (sink_) sink_(event);
}

}  // namespace edgejoule::driver
