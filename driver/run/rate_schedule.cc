#include "rate_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numbers>
#include <system_error>

#include "system/check.h"
#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

constexpr double operations_max = 1e9;   // per second
constexpr double operations_min = 1e-6;  // of a constant rate: one operation in 12 days
constexpr double due_ns_max = 1e18;      // 31 years

[[noreturn]] void refuse(const std::string& text, const std::string& expected) {
  throw UsageError(fmt::format("rate {}: expected {}", text, expected));
}

double number_in(std::string_view word, const std::string& text, const std::string& expected) {
  double value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) refuse(text, expected);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<RateSchedule::Step> steps_in(const std::string& text) {
  const std::string expected = "steps:OPS_S@SECONDS,..., for example steps:1000@10,4000@5";
  std::vector<RateSchedule::Step> steps;
  for (const auto part : split(std::string_view(text).substr(6), ',')) {
    const auto at = part.find('@');
    if (at == std::string_view::npos) refuse(text, expected);
    steps.push_back({number_in(part.substr(0, at), text, expected), number_in(part.substr(at + 1), text, expected)});
  }
  return steps;
}

std::map<std::string, double> sine_in(const std::string& text) {
  const std::string expected = "sine:mean=OPS_S,amplitude=OPS_S,period=SECONDS[,phase=RADIANS]";
  std::map<std::string, double> values{{"phase", 0}};
  for (const auto part : split(std::string_view(text).substr(5), ',')) {
    const auto at = part.find('=');
    if (at == std::string_view::npos) refuse(text, expected);
    values[std::string(part.substr(0, at))] = number_in(part.substr(at + 1), text, expected);
  }
  const bool complete = values.contains("mean") && values.contains("amplitude") && values.contains("period");
  if (!complete || values.size() != 4) refuse(text, expected);
  return values;
}

struct Recorded {
  double time_s;
  double ops_s;
};

std::vector<Recorded> lines_of(const std::string& text) {
  const auto path = text.substr(5);
  if (std::error_code absent; std::filesystem::is_directory(path, absent)) {
    refuse(text, "a file; this is a directory");
  }
  std::ifstream file(path);
  if (!file) refuse(text, "a file that can be read");
  std::vector<Recorded> lines;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#' || (number == 1 && line == "time_s,ops_s")) continue;
    const auto parts = split(line, ',');
    const auto expected = fmt::format("time_s,ops_s in line {}, found: {}", number, line);
    if (parts.size() != 2) refuse(text, expected);
    lines.push_back({number_in(parts[0], text, expected), number_in(parts[1], text, expected)});
    if (lines.size() > 1 && lines.back().time_s <= lines[lines.size() - 2].time_s) {
      refuse(text, fmt::format("increasing times, but line {} is not later than the line before it", number));
    }
  }
  if (lines.size() < 2) refuse(text, "two lines or more: a rate lasts until the next line's time");
  return lines;
}

// The last line's rate lasts as long as the rate before it.
std::vector<RateSchedule::Step> recorded_in(const std::string& text) {
  const auto lines = lines_of(text);
  std::vector<RateSchedule::Step> steps;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    steps.push_back({lines[i].ops_s, lines[i + 1].time_s - lines[i].time_s});
  }
  steps.push_back({lines.back().ops_s, steps.back().seconds});
  return steps;
}

void check(const std::vector<RateSchedule::Step>& steps, const std::string& text) {
  double operations = 0;
  for (const auto& step : steps) {
    if (step.ops_s < 0 || step.ops_s > operations_max) refuse(text, "rates from 0 to 1e9 operations per second");
    if (step.seconds <= 0) refuse(text, "durations greater than 0 s");
    operations += step.ops_s * step.seconds;
  }
  if (operations <= 0) refuse(text, "a rate above 0 in one step at least");
}

}  // namespace

RateSchedule RateSchedule::constant(double ops_s) {
  EJ_CHECK(ops_s > 0 && std::isfinite(ops_s), ops_s);
  return RateSchedule(Constant{ops_s});
}

RateSchedule RateSchedule::steps(const std::vector<Step>& steps) {
  Steps law{steps, {}, {}};
  double time_s = 0;
  double operations = 0;
  for (const auto& step : steps) {
    EJ_CHECK(step.seconds > 0 && step.ops_s >= 0, step.seconds, step.ops_s);
    law.end_s.push_back(time_s += step.seconds);
    law.end_ops.push_back(operations += step.ops_s * step.seconds);
  }
  EJ_CHECK(operations > 0 && std::isfinite(operations) && std::isfinite(time_s), steps.size(), operations, time_s);
  return RateSchedule(std::move(law));
}

RateSchedule RateSchedule::sine(double mean_ops_s, double amplitude_ops_s, double period_s, double phase) {
  EJ_CHECK(mean_ops_s > 0 && std::isfinite(mean_ops_s) && period_s > 0, mean_ops_s, period_s);
  EJ_CHECK(amplitude_ops_s >= 0 && amplitude_ops_s <= mean_ops_s, amplitude_ops_s, mean_ops_s);
  return RateSchedule(Sine{mean_ops_s, amplitude_ops_s, period_s, phase});
}

RateSchedule RateSchedule::parse(const std::string& text) {
  if (text.starts_with("steps:") || text.starts_with("file:")) {
    const auto rates = text[0] == 's' ? steps_in(text) : recorded_in(text);
    check(rates, text);
    return steps(rates);
  }
  if (text.starts_with("sine:")) {
    const auto given = sine_in(text);
    const auto mean = given.at("mean");
    const auto amplitude = given.at("amplitude");
    if (mean <= 0 || mean > operations_max) refuse(text, "a mean above 0 and up to 1e9 operations per second");
    if (amplitude < 0 || amplitude > mean) refuse(text, "an amplitude from 0 to the mean");
    if (given.at("period") <= 0) refuse(text, "a period greater than 0 s");
    return sine(mean, amplitude, given.at("period"), given.at("phase"));
  }
  const std::string expected = "operations per second, or steps:..., sine:... or file:...";
  const auto ops_s = number_in(text, text, expected);
  if (ops_s < operations_min || ops_s > operations_max) refuse(text, "a rate from 1e-6 to 1e9 operations per second");
  return constant(ops_s);
}

std::uint64_t RateSchedule::due_ns(std::uint64_t number) const {
  const auto due = std::visit([number](const auto& law) { return due_s(law, static_cast<double>(number)); }, law_);
  EJ_CHECK(due >= 0, due, number);
  return static_cast<std::uint64_t>(std::min(due * 1e9, due_ns_max));
}

std::uint64_t RateSchedule::duration_ns(std::uint64_t operations) const {
  const auto* const steps = std::get_if<Steps>(&law_);
  if (steps == nullptr || operations == 0) return operations == 0 ? 0 : due_ns(operations);
  return static_cast<std::uint64_t>(std::min(duration_s(*steps, static_cast<double>(operations)) * 1e9, due_ns_max));
}

double RateSchedule::operations_until(std::uint64_t time_ns) const {
  return std::visit([time_ns](const auto& law) { return law.operations_until(static_cast<double>(time_ns) * 1e-9); },
                    law_);
}

double RateSchedule::mean_ops_s() const {
  if (const auto* law = std::get_if<Steps>(&law_)) return law->end_ops.back() / law->end_s.back();
  if (const auto* law = std::get_if<Sine>(&law_)) return law->mean_ops_s;
  return std::get<Constant>(law_).ops_s;
}

double RateSchedule::due_s(const Constant& law, double number) { return number / law.ops_s; }

RateSchedule::Place RateSchedule::place_of(const Steps& law, double number) {
  auto rounds = std::floor(number / law.end_ops.back());
  auto rest = std::max(0.0, number - rounds * law.end_ops.back());  // rounding may take it below 0
  if (rest >= law.end_ops.back()) {                                 // rounding
    ++rounds;
    rest = 0;
  }
  // The first step that ends after the rest. A step without operations is never chosen.
  const auto step = static_cast<std::size_t>(std::ranges::upper_bound(law.end_ops, rest) - law.end_ops.begin());
  EJ_CHECK(step < law.steps.size() && law.steps[step].ops_s > 0, step, law.steps.size(), rest, number);
  const auto begin_s = step == 0 ? 0 : law.end_s[step - 1];
  const auto begin_ops = step == 0 ? 0 : law.end_ops[step - 1];
  const auto round_s = rounds * law.end_s.back();
  return {step, round_s + begin_s + (rest - begin_ops) / law.steps[step].ops_s, round_s + law.end_s[step]};
}

double RateSchedule::due_s(const Steps& law, double number) { return place_of(law, number).due_s; }

double RateSchedule::duration_s(const Steps& law, double operations) {
  const auto last = place_of(law, operations - 1);
  const auto end_s = std::min(last.due_s + 1 / law.steps[last.step].ops_s, due_s(law, operations));
  const auto& next = law.steps[(last.step + 1) % law.steps.size()];
  return next.ops_s > 0 ? end_s : std::max(last.due_s, std::min(end_s, last.step_end_s));
}

double RateSchedule::Steps::operations_until(double t_s) const {
  const auto rounds = std::floor(t_s / end_s.back());
  const auto rest_s = t_s - rounds * end_s.back();
  double operations = rounds * end_ops.back();
  double begin_s = 0;
  for (std::size_t i = 0; i < steps.size() && begin_s < rest_s; begin_s = end_s[i++]) {
    operations += steps[i].ops_s * (std::min(rest_s, end_s[i]) - begin_s);
  }
  return operations;
}

double RateSchedule::Sine::operations_until(double t_s) const {
  const auto omega = 2 * std::numbers::pi / period_s;
  return mean_ops_s * t_s + amplitude_ops_s / omega * (std::cos(phase) - std::cos(omega * t_s + phase));
}

double RateSchedule::due_s(const Sine& law, double number) {
  const auto rounds = std::floor(number / (law.mean_ops_s * law.period_s));
  const auto rest = number - rounds * law.mean_ops_s * law.period_s;
  if (rest <= 0) return rounds * law.period_s;
  double low = 0;
  double high = law.period_s;
  constexpr double precision_s = 1e-9;
  while (high - low > precision_s) {
    const auto middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;  // no floating-point number lies between them
    (law.operations_until(middle) < rest ? low : high) = middle;
  }
  return rounds * law.period_s + high;
}

}  // namespace edgejoule::driver
