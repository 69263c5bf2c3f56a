// Learns the cost of compactions at home and at workers from those that have ended, and derives how long to wait for a
// job. Thread-safe.
#pragma once

#include <rocksdb/listener.h>

#include <mutex>

#include "compaction_model.h"
#include "eco.h"
#include "eco.pb.h"
#include "monitor.h"
#include "patience.h"

namespace eco {

void fill(proto::JobFeatures& message, const Job& job);
[[nodiscard]] Job job_of(const proto::JobFeatures& message);

class Learning {
 public:
  explicit Learning(const Settings& settings) : settings_(settings) {}

  // Learns from a local compaction that has ended. Returns its report.
  [[nodiscard]] proto::JobReport learn_local(const Begun& begun, const rocksdb::CompactionJobInfo& info);
  // Learns from a job that has ended at a worker.
  void learn_remote(const Job& job, double wall_s);
  // Returns how long to wait for a job, from the placer's predictions or from local experience.
  [[nodiscard]] Patience::Limits limits(const proto::Placement& placement, const Job& features) const;

 private:
  const Settings& settings_;
  mutable std::mutex mutex_;
  CompactionModel local_, remote_;
};

}  // namespace eco
