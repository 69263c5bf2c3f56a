#include "backoff.h"

#include <algorithm>
#include <cmath>

namespace eco {

void Backoff::began(const std::string& worker, double now_s) {
  const auto found = workers_.find(worker);
  if (found != workers_.end()) found->second.resume_s = now_s + found->second.pause_s;
}

void Backoff::succeeded(const std::string& worker) {
  workers_.erase(worker);
  failed_last_.clear();
  all_resume_s_ = 0;
}

void Backoff::failed(const std::string& worker, double wasted_s, double now_s) {
  Worker& state = workers_[worker];
  const bool known = state.failures > 0 && now_s - wasted_s < state.failed_s;  // this job began before the last failure
  if (known) return;
  ++state.failures, state.failed_s = now_s;
  const double least_s = std::max(limits_.pause_s_min, wasted_s / limits_.cost_share);
  const double doubled_s = least_s * std::exp2(std::min(state.failures - 1, 30U));
  state.pause_s = std::max(least_s, std::min(doubled_s, limits_.pause_s_max));
  state.resume_s = now_s + state.pause_s;
  if (!failed_last_.empty() && failed_last_ != worker) all_resume_s_ = std::max(all_resume_s_, now_s + least_s);
  failed_last_ = worker;
}

double Backoff::left_s(const std::string& worker, double now_s) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? 0 : std::max(0.0, found->second.resume_s - now_s);
}

double Backoff::all_left_s(double now_s) const { return std::max(0.0, all_resume_s_ - now_s); }

std::uint32_t Backoff::failures(const std::string& worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? 0 : found->second.failures;
}

std::vector<std::string> Backoff::avoided(double now_s) const {
  std::vector<std::string> names;
  for (const auto& [name, worker] : workers_)
    if (worker.resume_s > now_s) names.push_back(name);
  return names;
}

}  // namespace eco
