#include "decision_log.h"

#include <algorithm>
#include <ranges>

namespace eco {

void DecisionLog::add(proto::LoggedDecision decision) {
  const std::scoped_lock lock(mutex_);
  decisions_.push_back(std::move(decision));
  if (decisions_.size() > kept_) decisions_.pop_front();
}

void DecisionLog::report(const proto::JobReport& report) {
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

std::vector<proto::LoggedDecision> DecisionLog::last(std::size_t count) const {
  const std::scoped_lock lock(mutex_);
  const auto from = decisions_.end() - static_cast<std::ptrdiff_t>(std::min(count, decisions_.size()));
  return {from, decisions_.end()};
}

}  // namespace eco
