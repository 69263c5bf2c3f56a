#include "ycsb_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>
#include <vector>

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t us = 1000;

// A line of the report: [metric], measurement, value.
struct Line {
  std::string metric;
  std::string measurement;
  std::variant<std::uint64_t, double> value;
};

std::string percentile_name(double percent) {
  if (percent != std::floor(percent)) return java_number(percent);
  const auto whole = static_cast<int>(percent);
  const auto last = whole % 10;
  const bool teen = whole / 10 % 10 == 1;
  const auto* suffix = teen ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
  return fmt::format("{}{}", whole, suffix);
}

// Latencies of one operation, from its begin (service) or from when it was due (intended).
struct Timed {
  const Histogram& succeeded;
  const std::array<Histogram, status_kinds>& failed;
};

Timed service_of(const OperationMeasure& measure) { return {measure.service, measure.failed}; }

// Without a target each operation is due when it begins, so intended and service latency are equal.
Timed intended_of(const OperationMeasure& measure) {
  const auto recorded = [](const Histogram& histogram) { return histogram.count() > 0; };
  const bool due = recorded(measure.intended) || std::ranges::any_of(measure.failed_intended, recorded);
  return due ? Timed{measure.intended, measure.failed_intended} : service_of(measure);
}

class Report {
 public:
  explicit Report(const ReportOptions& options) : options_(options) {}

  void overall(std::uint64_t operations, std::uint64_t active_ns) {
    const auto seconds = static_cast<double>(active_ns) / 1e9;
    add("OVERALL", "RunTime(ms)", active_ns / 1'000'000);
    add("OVERALL", "Throughput(ops/sec)", static_cast<double>(operations) / seconds);
  }

  void operation(Operation operation, const OperationMeasure& measure) {
    const std::string name(operation_names[static_cast<std::size_t>(operation)]);
    const auto timed = options_.measured == MeasuredInterval::intended ? intended_of(measure) : service_of(measure);
    const bool both = options_.measured == MeasuredInterval::both;
    // YCSB reports the failures of a read-modify-write as those of its read and its update.
    const bool has_failures = operation != Operation::read_modify_write;
    succeeded(name, timed);
    if (has_failures) {
      returns(name, measure);
      failures(name, timed);
    }
    if (!both || operation == Operation::verify) return;
    if (measure.service.count() > 0) succeeded("Intended-" + name, intended_of(measure));
    if (has_failures) failures("Intended-" + name, intended_of(measure));
  }

  void cleanup(const Histogram& durations) {
    latencies("CLEANUP", durations);
    if (options_.measured == MeasuredInterval::both) latencies("Intended-CLEANUP", durations);
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& line : lines_) {
      text += fmt::format("[{}], {}, {}\n", line.metric, line.measurement, written(line.value));
    }
    return text;
  }

  // In the layout of Jackson's pretty printer: objects over several lines, separated by `between`.
  [[nodiscard]] std::string json(const char* between) const {
    std::string text;
    for (const auto& line : lines_) {
      const auto value = written(line.value);
      const auto* quote = std::isdigit(static_cast<unsigned char>(value.back())) != 0 ? "" : "\"";
      text += fmt::format("{}{{\n  \"metric\" : \"{}\",\n  \"measurement\" : \"{}\",\n  \"value\" : {}{}{}\n}}",
                          text.empty() ? "" : between, line.metric, line.measurement, quote, value, quote);
    }
    return text;
  }

 private:
  // Without a success there are no latencies.
  void succeeded(const std::string& name, const Timed& timed) {
    if (timed.succeeded.count() > 0) {
      latencies(name, timed.succeeded);
    } else {
      add(name, "Operations", std::uint64_t{0});
    }
  }

  void latencies(const std::string& name, const Histogram& histogram) {
    add(name, "Operations", histogram.count());
    add(name, "AverageLatency(us)", histogram.mean() / us);
    add(name, "MinLatency(us)", histogram.min() / us);
    add(name, "MaxLatency(us)", histogram.max() / us);
    for (const auto percent : options_.percentiles) {
      add(name, percentile_name(percent) + "PercentileLatency(us)", histogram.percentile(percent) / us);
    }
  }

  void add(std::string metric, std::string measurement, std::variant<std::uint64_t, double> value) {
    lines_.push_back({std::move(metric), std::move(measurement), value});
  }

  void returns(const std::string& name, const OperationMeasure& measure) {
    for (std::size_t i = 0; i < status_kinds; ++i) {
      if (measure.returns[i] > 0) add(name, fmt::format("Return={}", status_names[i]), measure.returns[i]);
    }
  }

  void failures(const std::string& name, const Timed& timed) {
    Histogram together;
    for (std::size_t i = 0; i < status_kinds; ++i) {
      const std::string status(status_names[i]);
      if (timed.failed[i].count() == 0) continue;
      if (options_.each_error_apart || options_.errors_apart.contains(status)) {
        latencies(name + "-" + status, timed.failed[i]);
      } else {
        together.add(timed.failed[i]);
      }
    }
    if (together.count() > 0) latencies(name + "-FAILED", together);
  }

  static std::string written(const std::variant<std::uint64_t, double>& value) {
    if (const auto* whole = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *whole);
    return java_number(std::get<double>(value));
  }

  const ReportOptions& options_;
  std::vector<Line> lines_;
};

}  // namespace

std::string java_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  const auto size = std::abs(value);
  if (size == 0 || (size >= 1e-3 && size < 1e7)) {
    auto text = fmt::format("{}", value);
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  auto text = fmt::format("{:e}", value);
  for (int digits = 1; std::stod(text) != value || digits == 1; ++digits) text = fmt::format("{:.{}e}", value, digits);
  const auto exponent = text.find('e');
  return fmt::format("{}E{}", text.substr(0, exponent), std::stoi(text.substr(exponent + 1)));
}

std::string ycsb_report(const ReportOptions& options, const Measurements& measurements, const Histogram& cleanup,
                        std::uint64_t operations, std::uint64_t active_ns) {
  Report report(options);
  report.overall(operations, active_ns);
  for (std::size_t i = 0; i < operation_kinds; ++i) {
    const auto& measure = measurements.operations[i];
    if (measure.service.count() + measure.failures() > 0) report.operation(static_cast<Operation>(i), measure);
  }
  report.cleanup(cleanup);
  switch (options.format) {
    case ReportFormat::text:
      return report.text();
    case ReportFormat::json:
      return report.json(" ");
    case ReportFormat::json_array:
      return "[ " + report.json(", ") + " ]";
  }
  return {};
}

}  // namespace edgejoule::driver
