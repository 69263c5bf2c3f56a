// Rates that change with time, and the time at which each operation is due. The loop is open: an operation is due even
// if the one before it has not ended.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace edgejoule::driver {

class RateSchedule {
 public:
  struct Step {
    double ops_s;
    double seconds;
  };

  [[nodiscard]] static RateSchedule constant(double ops_s);  // > 0

  // The steps in turn, repeated. Durations > 0, rates >= 0 and not all 0.
  [[nodiscard]] static RateSchedule steps(const std::vector<Step>& steps);

  // mean + amplitude * sin(2 pi t / period + phase). amplitude <= mean, so that no rate is negative.
  [[nodiscard]] static RateSchedule sine(double mean_ops_s, double amplitude_ops_s, double period_s, double phase = 0);

  // Parses the user's text:
  //   1000                                   operations per second
  //   steps:1000@10,4000@5                   1000 ops/s for 10 s, 4000 for 5 s, repeated
  //   sine:mean=2000,amplitude=1500,period=60[,phase=RADIANS]
  //   file:rates.csv                         recorded: lines `time_s,ops_s`, each rate until the next line's time
  // Throws UsageError.
  [[nodiscard]] static RateSchedule parse(const std::string& text);

  // When operation `number` (from 0) is due, ns since the schedule began.
  [[nodiscard]] std::uint64_t due_ns(std::uint64_t number) const;

  // How long the schedule takes for this many operations: until the last one is due, plus one interval at the rate of
  // that moment. The interval ends where a pause begins.
  [[nodiscard]] std::uint64_t duration_ns(std::uint64_t operations) const;

  // How many operations are due until time_ns, with the fraction of the next one.
  [[nodiscard]] double operations_until(std::uint64_t time_ns) const;

  [[nodiscard]] bool is_constant() const { return std::holds_alternative<Constant>(law_); }
  [[nodiscard]] double mean_ops_s() const;

 private:
  struct Constant {
    double ops_s;

    [[nodiscard]] double operations_until(double t_s) const { return ops_s * t_s; }
  };
  struct Steps {
    std::vector<Step> steps;
    std::vector<double> end_s;    // of each step
    std::vector<double> end_ops;  // operations until the end of each step

    [[nodiscard]] double operations_until(double t_s) const;
  };
  struct Sine {
    double mean_ops_s;
    double amplitude_ops_s;
    double period_s;
    double phase;

    [[nodiscard]] double operations_until(double t_s) const;
  };
  using Law = std::variant<Constant, Steps, Sine>;

  struct Place {  // of an operation in the schedule
    std::size_t step;
    double due_s;
    double step_end_s;
  };

  explicit RateSchedule(Law law) : law_(std::move(law)) {}

  static double due_s(const Constant& law, double number);
  static Place place_of(const Steps& law, double number);
  static double due_s(const Steps& law, double number);
  static double due_s(const Sine& law, double number);
  static double duration_s(const Steps& law, double operations);

  Law law_;
};

}  // namespace edgejoule::driver
