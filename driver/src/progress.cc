#include "progress.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "standard_error.h"

namespace edgejoule::driver {
namespace {

constexpr std::size_t bar_columns = 24;

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

// As YCSB writes them, in us.
std::string by_operation(const Measurements& measurements) {
  constexpr std::uint64_t us = 1000;
  std::string text;
  for (std::size_t i = 0; i < operation_kinds; ++i) {
    const auto& service = measurements.operations[i].service;
    if (service.count() == 0) continue;
    text += fmt::format(" [{}: Count={}, Max={}, Min={}, Avg={:.2f}, 90={}, 99={}, 99.9={}, 99.99={}]",
                        operation_names[i], service.count(), service.max() / us, service.min() / us,
                        service.mean() / us, service.percentile(90) / us, service.percentile(99) / us,
                        service.percentile(99.9) / us, service.percentile(99.99) / us);
  }
  return text;
}

}  // namespace

Progress::Progress(const Invocation& invocation)
    : planned_(invocation.workload->operations),
      seconds_max_(static_cast<double>(invocation.workload->seconds_max)),
      bar_(!invocation.quiet && !invocation.status_lines && isatty(STDERR_FILENO) == 1),
      label_(invocation.label),
      status_interval_s_(invocation.status_lines ? static_cast<double>(invocation.status_interval_s) : 0),
      next_status_s_(status_interval_s_) {}

Progress::~Progress() { clear(); }

double Progress::share(std::uint64_t done, double elapsed_s) const {
  double share = planned_ > 0 ? static_cast<double>(done) / static_cast<double>(planned_) : 0;
  if (seconds_max_ > 0) share = std::max(share, elapsed_s / seconds_max_);
  return std::min(share, 1.0);
}

void Progress::show(const std::string& phase, std::uint64_t done, double elapsed_s, double rate_ops_s,
                    const Measurements& interval) {
  if (bar_) draw_bar(phase, done, elapsed_s, rate_ops_s);
  if (status_interval_s_ <= 0) return;
  since_status_.add(interval);
  if (elapsed_s >= next_status_s_) status_line(done, elapsed_s);
}

void Progress::draw_bar(const std::string& phase, std::uint64_t done, double elapsed_s, double rate_ops_s) {
  const auto part = share(done, elapsed_s);
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(bar_columns));
  const auto left = part > 0 ? duration(elapsed_s * (1 - part) / part) + " left" : "";
  tell("\r\033[K{} [{:=<{}}{:{}}] {:3.0f} %  {:.0f} operations/s  {}", phase, "", filled, "", bar_columns - filled,
       part * 100, rate_ops_s, left);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::status_line(std::uint64_t done, double elapsed_s) {
  const auto rate = static_cast<double>(done - last_status_done_) / (elapsed_s - last_status_s_);
  const auto part = share(done, elapsed_s);
  tell("{}{:%Y-%m-%d %H:%M:%S} {:.0f} sec: {} operations; {:.2f} current ops/sec; est completion in {}{}\n",
       label_.empty() ? "" : label_ + " ", fmt::localtime(std::time(nullptr)), elapsed_s, done, rate,
       part > 0 ? duration(elapsed_s * (1 - part) / part) : "unknown time", by_operation(since_status_));
  since_status_.clear();
  last_status_done_ = done;
  last_status_s_ = elapsed_s;
  while (next_status_s_ <= elapsed_s) next_status_s_ += status_interval_s_;
}

void Progress::note(const std::string& phase) {
  if (!bar_) return;
  tell("\r\033[K{} ...", phase);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  tell("\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace edgejoule::driver
