#include "learning.h"

#include <algorithm>
#include <string>

#include "check.h"

namespace eco {

void fill(proto::JobFeatures& message, const Job& job) {
  message.set_input_bytes(job.input_bytes), message.set_input_entries(job.input_entries), message.set_codec(job.codec);
}

Job job_of(const proto::JobFeatures& message) {
  return {.input_bytes = message.input_bytes(), .input_entries = message.input_entries(), .codec = message.codec()};
}

proto::JobReport Learning::learn_local(const Begun& begun, const rocksdb::CompactionJobInfo& info) {
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

void Learning::learn_remote(const Job& job, double wall_s) {
  ECO_CHECK(wall_s >= 0, wall_s);
  const std::lock_guard lock(mutex_);
  remote_.learn(job, {.compute_s = wall_s});
}

Patience::Limits Learning::limits(const proto::Placement& placement, const Job& features) const {
  const std::lock_guard lock(mutex_);
  double local_s = placement.local_s(), expected_s = placement.expected_s();
  if (local_s <= 0) local_s = local_.predict(features).compute_s.upper();
  if (expected_s <= 0) expected_s = remote_.predict(features).compute_s.upper();
  // Without a local time for comparison: twice the time expected at the worker.
  double usual_s = local_s > 0 ? std::max(local_s, expected_s) : 2 * expected_s;
  if (usual_s > 0) usual_s = std::max(1.0, usual_s);  // shorter times are noise
  // A worker sends progress five times a second. Its silence is tolerated for as long as a local compaction takes, at
  // most.
  const double slow_bytes_s = 10e6;  // speed of a small board, assumed before the first local compaction
  const double here_s = local_s > 0 ? local_s : static_cast<double>(features.input_bytes) / slow_bytes_s;
  const double silence_s = std::max(1.5, here_s);  // allows for the start of a process
  return {.heartbeat_s = std::min(settings_.heartbeat_s, silence_s),
          .standstill_s = settings_.standstill_s,
          .total_s = settings_.job_s_max,
          .usual_s = usual_s};
}

}  // namespace eco
