#include "progress.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "system/standard_error.h"

namespace edgejoule::driver {
namespace {

constexpr std::size_t bar_columns = 24;

std::string duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

// The format of YCSB's status lines.

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  const auto count = [](std::uint64_t number, const char* unit) {
    return number == 0 ? "" : fmt::format("{} {}{} ", number, unit, number == 1 ? "" : "s");
  };
  if (whole < 60) return fmt::format("{} second ", whole);
  const auto days = whole / 86'400;
  return count(days, "day") + count(whole / 3600 % 24, "hour") + (days > 0 ? "" : count(whole / 60 % 60, "minute"));
}

std::string with_two_decimals_at_most(double number) {
  auto text = fmt::format("{:.2f}", number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string in_us(const std::string& name, const Histogram& latencies) {
  constexpr std::uint64_t us = 1000;
  if (latencies.count() == 0) return {};
  return fmt::format("[{}: Count={}, Max={}, Min={}, Avg={}, 90={}, 99={}, 99.9={}, 99.99={}] ", name,
                     latencies.count(), latencies.max() / us, latencies.min() / us,
                     with_two_decimals_at_most(latencies.mean() / us), latencies.percentile(90) / us,
                     latencies.percentile(99) / us, latencies.percentile(99.9) / us, latencies.percentile(99.99) / us);
}

std::string by_operation(const Measurements& measurements) {
  std::string text;
  for (std::size_t i = 0; i < operation_kinds; ++i) {
    const auto& measured = measurements.operations[i];
    const std::string name(operation_names[i]);
    Histogram failed;
    // YCSB reports the failures of a read-modify-write as those of its read and its update.
    if (static_cast<Operation>(i) != Operation::read_modify_write) {
      for (const auto& histogram : measured.failed) failed.add(histogram);
    }
    text += in_us(name, measured.service) + in_us(name + "-FAILED", failed);
  }
  return text;
}

std::string time_of_day() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}:{:03}", fmt::localtime(now.tv_sec), now.tv_nsec / 1'000'000);
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
  if (elapsed_s < next_status_s_) return;
  const auto part = share(done, elapsed_s);
  status_line(done, elapsed_s, part > 0 ? duration_text(elapsed_s * (1 - part) / part) : "unknown time ");
}

void Progress::end(std::uint64_t done, double elapsed_s) {
  if (status_interval_s_ > 0 && elapsed_s > last_status_s_) status_line(done, elapsed_s, "");
  clear();
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

void Progress::status_line(std::uint64_t done, double elapsed_s, const std::string& left) {
  const auto rate = static_cast<double>(done - last_status_done_) / (elapsed_s - last_status_s_);
  tell("{}{} {} sec: {} operations; {} current ops/sec; {}{}{}\n", label_.empty() ? "" : label_ + " ", time_of_day(),
       static_cast<std::uint64_t>(elapsed_s), done, with_two_decimals_at_most(rate),
       left.empty() ? "" : "est completion in ", left, by_operation(since_status_));
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
