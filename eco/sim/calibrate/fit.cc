#include "fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace eco::calibrate {
namespace {

using Matrix = std::array<Terms, terms_max>;

double product(const Terms& a, const Terms& b) {
  double sum = 0;
  for (std::size_t i = 0; i < terms_max; ++i) sum += a[i] * b[i];
  return sum;
}

// Gaussian elimination with pivots; what cannot be told from the others gets 0.
Terms solve(Matrix a, Terms b) {
  std::array<double, terms_max> scale{};
  for (std::size_t i = 0; i < terms_max; ++i) scale[i] = a[i][i];
  Terms x{};
  std::array<bool, terms_max> used{};
  std::array<std::size_t, terms_max> row_of{};
  for (std::size_t column = 0; column < terms_max; ++column) {
    std::size_t pivot = terms_max;
    for (std::size_t row = 0; row < terms_max; ++row)
      if (!used[row] && (pivot == terms_max || std::abs(a[row][column]) > std::abs(a[pivot][column]))) pivot = row;
    row_of[column] = terms_max;
    if (std::abs(a[pivot][column]) <= 1e-10 * scale[column]) continue;
    used[pivot] = true, row_of[column] = pivot;
    for (std::size_t row = 0; row < terms_max; ++row) {
      if (row == pivot) continue;
      const double factor = a[row][column] / a[pivot][column];
      for (std::size_t i = 0; i < terms_max; ++i) a[row][i] -= factor * a[pivot][i];
      b[row] -= factor * b[pivot];
    }
  }
  for (std::size_t i = 0; i < terms_max; ++i)
    if (row_of[i] < terms_max) x[i] = b[row_of[i]] / a[row_of[i]][i];
  return x;
}

}  // namespace

Fit fit(const std::vector<Observation>& observations) {
  std::vector<Terms> rows;  // by what was observed: the right side is 1
  Terms unit{};             // of each term, so that all are of one size
  for (const auto& [terms, cpu_s] : observations) {
    if (!(cpu_s > 0)) continue;
    Terms row = terms;
    for (double& term : row) term /= cpu_s;
    rows.push_back(row);
    for (std::size_t i = 0; i < terms_max; ++i) unit[i] = std::max(unit[i], std::abs(row[i]));
  }
  Fit result{.observations = rows.size()};
  std::array<bool, terms_max> kept{};
  for (std::size_t i = 0; i < terms_max; ++i) kept[i] = unit[i] > 0;
  for (auto& row : rows)
    for (std::size_t i = 0; i < terms_max; ++i) row[i] = kept[i] ? row[i] / unit[i] : 0;
  for (bool again = true; again;) {
    Matrix normal{};
    Terms right{};
    for (const auto& row : rows)
      for (std::size_t i = 0; i < terms_max; ++i) {
        if (!kept[i]) continue;
        right[i] += row[i];
        for (std::size_t j = 0; j < terms_max; ++j) normal[i][j] += kept[j] ? row[i] * row[j] : 0;
      }
    result.coefficients = solve(normal, right);
    const auto least = std::ranges::min_element(result.coefficients);
    again = *least < 0;
    if (again) kept[static_cast<std::size_t>(least - result.coefficients.begin())] = false;
  }
  std::vector<double> errors;
  for (const auto& row : rows) errors.push_back(std::abs(product(result.coefficients, row) - 1));
  std::ranges::sort(errors);
  if (!errors.empty()) {
    result.error_median = errors[errors.size() / 2];
    result.error_p90 = errors[errors.size() * 9 / 10];
  }
  for (std::size_t i = 0; i < terms_max; ++i)
    if (unit[i] > 0) result.coefficients[i] /= unit[i];
  return result;
}

Spread spread(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const double median = values[values.size() / 2];
  return {.median = median, .range = median > 0 ? (values.back() - values.front()) / median : 0};
}

}  // namespace eco::calibrate
