#include "linear_model.h"

#include <algorithm>
#include <cmath>

namespace eco {
namespace {

constexpr std::size_t n = LinearModel::terms_max;
constexpr double prior_variance = 1e4;      // of a coefficient, for relative errors of variance 1
constexpr double deviation_unknown = 0.25;  // relative deviation of the first predictions
constexpr double scale_max = 4;  // above this ratio to the prediction, an error is relative to the observation

using Terms = LinearModel::Terms;

double product(const Terms& a, const Terms& b) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

Terms times(const std::array<double, n * n>& matrix, const Terms& x) {
  Terms out{};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) out[i] += matrix[i * n + j] * x[j];
  return out;
}

}  // namespace

LinearModel::LinearModel(double forgetting) : forgetting_(forgetting) {
  for (std::size_t i = 0; i < n; ++i) state_.covariance[i * n + i] = prior_variance;
}

LinearModel::LinearModel(const State& state, double forgetting) : state_(state), forgetting_(forgetting) {}

void LinearModel::learn(const Terms& terms, double y) {
  if (!(y > 0) || !std::isfinite(y)) return;
  const double predicted = product(state_.coefficients, terms);
  const bool settled = state_.observations >= 2;  // predictions from fewer do not measure the error
  const double scale = settled ? std::max(predicted, y / scale_max) : y;
  const double error = (y - predicted) / scale;
  if (settled) {
    const double surprise = std::min(std::abs(error), 1.0);
    state_.squares = forgetting_ * state_.squares + surprise * surprise;
    state_.weight = forgetting_ * state_.weight + 1;
  }
  state_.observations += 1;

  Terms x{};
  for (std::size_t i = 0; i < n; ++i) x[i] = terms[i] / scale;
  auto& p = state_.covariance;
  const Terms px = times(p, x);
  const double r = product(x, px);
  if (!(r > 0)) return;
  for (std::size_t i = 0; i < n; ++i) state_.coefficients[i] += px[i] * error / (1 + r);
  // Forgets only in the direction that the observation informs. While bytes and entries stay proportional, the other
  // direction keeps its information.
  const double kept = forgetting_ - (1 - forgetting_) / r;
  if (kept == 0) return;
  const double gain = 1 / (1 / kept + r);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) p[i * n + j] -= gain * px[i] * px[j];
}

Estimate LinearModel::predict(const Terms& terms) const {
  const double mean = std::max(0.0, product(state_.coefficients, terms));
  if (state_.observations == 0 || mean == 0) return {mean, 0};
  const double relative = state_.weight > 0 ? std::sqrt(state_.squares / state_.weight) : deviation_unknown;
  Terms x{};
  for (std::size_t i = 0; i < n; ++i) x[i] = terms[i] / mean;
  const double leverage = std::min(product(x, times(state_.covariance, x)), 1.0);
  return {mean, mean * relative * std::sqrt(1 + leverage)};
}

}  // namespace eco
