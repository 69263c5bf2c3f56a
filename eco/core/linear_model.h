// Linear regression with forgetting: recursive least squares with directional forgetting (R. Kulhavy, Automatica 23
// (5), 1987). Errors are relative to the prediction, because a job of 10 ms matters as much as one of 10 s. Where terms
// are collinear (with one value size, bytes and entries are proportional) a weak prior keeps the coefficients small;
// only the prediction is used.
#pragma once

#include <array>
#include <cstddef>

namespace eco {

// A predicted value with its uncertainty.
struct Estimate {
  double mean = 0;
  double deviation = 0;  // standard deviation of one observation, including the uncertainty of the mean

  // One-sided 95 % bound under a normal distribution: about one observation in twenty exceeds it.
  [[nodiscard]] double upper() const { return mean + 1.645 * deviation; }
};

class LinearModel {
 public:
  static constexpr std::size_t terms_max = 3;
  using Terms = std::array<double, terms_max>;  // of order 1 each; unused ones are 0

  // The state of the model that a server sends to the others.
  struct State {
    Terms coefficients{};
    std::array<double, terms_max * terms_max> covariance{};
    double squares = 0;       // sum of squared relative errors of predictions made before learning the observation
    double weight = 0;        // sum of the weights of these errors
    double observations = 0;  // number learnt
  };

  // forgetting: factor on the weight of earlier observations at each new one, in (0, 1].
  explicit LinearModel(double forgetting = 0.99);
  explicit LinearModel(const State& state, double forgetting = 0.99);

  // Ignores the observation unless y > 0.
  void learn(const Terms& terms, double y);
  // Never negative. Before the first observation the mean is 0.
  [[nodiscard]] Estimate predict(const Terms& terms) const;
  [[nodiscard]] double observations() const { return state_.observations; }
  [[nodiscard]] const State& state() const { return state_; }

 private:
  State state_;
  double forgetting_;
};

}  // namespace eco
