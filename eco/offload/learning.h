// What compactions take here and at workers, learnt from those that have ended; and how long a job is waited for by it.
// Thread-safe.
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

  // A compaction has ended here. Returns its report.
  [[nodiscard]] proto::JobReport learn_local(const Begun& begun, const rocksdb::CompactionJobInfo& info);
  // A job has ended at a worker.
  void learn_remote(const Job& job, double wall_s);
  // How long a job is waited for, by the placer's expectations or by what was learnt here.
  [[nodiscard]] Patience::Limits limits(const proto::Placement& placement, const Job& features) const;

 private:
  const Settings& settings_;
  mutable std::mutex mutex_;
  CompactionModel local_, remote_;
};

}  // namespace eco
