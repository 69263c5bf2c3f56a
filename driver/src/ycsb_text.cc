#include "ycsb_text.h"

#include <fmt/format.h>

#include <cmath>

namespace edgejoule::driver {
namespace {

// Doubles as Java prints them, as far as latencies and rates go: always with a point.
std::string number(double value) {
  auto text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string percentile_name(double percent) {
  if (percent != std::floor(percent)) return number(percent);
  const auto whole = static_cast<int>(percent);
  const auto last = whole % 10;
  const bool teen = whole / 10 % 10 == 1;
  const auto* suffix = teen ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
  return fmt::format("{}{}", whole, suffix);
}

constexpr std::uint64_t us = 1000;

void append(std::string& text, const std::string& name, const Histogram& histogram,
            const std::vector<double>& percentiles) {
  text += fmt::format("[{}], Operations, {}\n", name, histogram.count());
  text += fmt::format("[{}], AverageLatency(us), {}\n", name, number(histogram.mean() / us));
  text += fmt::format("[{}], MinLatency(us), {}\n", name, histogram.min() / us);
  text += fmt::format("[{}], MaxLatency(us), {}\n", name, histogram.max() / us);
  for (const auto percent : percentiles) {
    text += fmt::format("[{}], {}PercentileLatency(us), {}\n", name, percentile_name(percent),
                        histogram.percentile(percent) / us);
  }
}

void append_returns(std::string& text, const std::string& name, const OperationMeasure& measure) {
  for (std::size_t i = 0; i < status_kinds; ++i) {
    if (measure.returns[i] > 0) text += fmt::format("[{}], Return={}, {}\n", name, status_names[i], measure.returns[i]);
  }
}

// Without a target nothing is due before it begins: intended and service latency are the same.
const Histogram& intended_of(const OperationMeasure& measure) {
  return measure.intended.count() > 0 ? measure.intended : measure.service;
}

}  // namespace

std::string ycsb_text(const Invocation& invocation, const Measurements& measurements, const Histogram& cleanup,
                      std::uint64_t operations, std::uint64_t active_ns) {
  const auto seconds = static_cast<double>(active_ns) / 1e9;
  auto text = fmt::format("[OVERALL], RunTime(ms), {}\n", active_ns / 1'000'000);
  text += fmt::format("[OVERALL], Throughput(ops/sec), {}\n", number(static_cast<double>(operations) / seconds));
  for (std::size_t i = 0; i < operation_kinds; ++i) {
    const auto& measure = measurements.operations[i];
    const std::string name(operation_names[i]);
    if (measure.service.count() + measure.failed.count() == 0) continue;
    if (measure.service.count() > 0) {
      append(text, name, invocation.measured == MeasuredInterval::intended ? intended_of(measure) : measure.service,
             invocation.percentiles);
    }
    // YCSB gives no status for what it makes of a read and an update.
    if (i != static_cast<std::size_t>(Operation::read_modify_write)) append_returns(text, name, measure);
    if (invocation.measured == MeasuredInterval::both && measure.service.count() > 0) {
      append(text, "Intended-" + name, intended_of(measure), invocation.percentiles);
    }
    if (measure.failed.count() > 0) append(text, name + "-FAILED", measure.failed, invocation.percentiles);
  }
  append(text, "CLEANUP", cleanup, invocation.percentiles);
  return text;
}

}  // namespace edgejoule::driver
