// What operations cost, from observations: a linear law of errors relative to what was observed, no coefficient below
// 0.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace eco::calibrate {

inline constexpr std::size_t terms_max = 4;
using Terms = std::array<double, terms_max>;

struct Observation {
  Terms terms{};
  double cpu_s = 0;
};

struct Fit {
  Terms coefficients{};
  double error_median = 0, error_p90 = 0;  // of the observations against it, relative
  std::size_t observations = 0;
};

// Terms that are 0 in all observations get 0. Observations that took no time are not counted.
[[nodiscard]] Fit fit(const std::vector<Observation>& observations);

struct Spread {
  double median = 0;
  double range = 0;  // (largest - smallest) / median
};
[[nodiscard]] Spread spread(std::vector<double> values);

}  // namespace eco::calibrate
