// The last decisions and their outcomes. Thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <mutex>
#include <ranges>
#include <utility>
#include <vector>

#include "eco.pb.h"

namespace eco {

class DecisionLog {
 public:
  explicit DecisionLog(std::size_t kept = 1000) : kept_(kept) {}

  void add(proto::LoggedDecision decision);
  // Adds the outcome to the decision on its job, if the log still has it.
  void report(const proto::JobReport& report);
  // Newest last.
  [[nodiscard]] std::vector<proto::LoggedDecision> last(std::size_t count) const;

 private:
  std::size_t kept_;
  mutable std::mutex mutex_;
  std::deque<proto::LoggedDecision> decisions_;
};

inline void DecisionLog::add(proto::LoggedDecision decision) {
  const std::scoped_lock lock(mutex_);
  decisions_.push_back(std::move(decision));
  if (decisions_.size() > kept_) decisions_.pop_front();
}

inline void DecisionLog::report(const proto::JobReport& report) {
  const std::scoped_lock lock(mutex_);
  for (auto& decision : std::views::reverse(decisions_)) {
    if (decision.request().job() != report.job()) continue;
    decision.set_outcome(report.outcome());
    decision.set_wall_s(report.wall_s()), decision.set_compute_s(report.compute_s());
    decision.set_cpu_s(report.cpu_s()), decision.set_home_cpu_s(report.home_cpu_s());
    decision.set_bytes_moved(report.bytes_moved()), decision.set_energy_j(report.energy_j());
    decision.set_bytes_shared(report.bytes_shared());
    return;
  }
}

inline std::vector<proto::LoggedDecision> DecisionLog::last(std::size_t count) const {
  const std::scoped_lock lock(mutex_);
  const auto from = decisions_.end() - static_cast<std::ptrdiff_t>(std::min(count, decisions_.size()));
  return {from, decisions_.end()};
}

}  // namespace eco
