// Linear regression that forgets: recursive least squares with directional forgetting (R. Kulhavy, Automatica 23 (5),
// 1987), of errors relative to the prediction, because a job of 10 ms matters as much as one of 10 s. Where the terms
// go together (one size of values: bytes and entries are proportional) the small prior keeps the coefficients small;
// the prediction is what counts.
#pragma once

#include <array>
#include <cstddef>

namespace eco {

// A predicted value, and what it will rarely exceed.
struct Estimate {
  double mean = 0;
  double deviation = 0;  // standard deviation of one observation, the uncertainty of the mean included

  // What one observation in some twenty exceeds, as far as they are normal.
  [[nodiscard]] double upper() const { return mean + 1.645 * deviation; }
};

class LinearModel {
 public:
  static constexpr std::size_t terms_max = 3;
  using Terms = std::array<double, terms_max>;  // of order 1 each; unused ones are 0

  // What a server tells the others of its model.
  struct State {
    Terms coefficients{};
    std::array<double, terms_max * terms_max> covariance{};
    double squares = 0;       // sum of squared relative errors, each predicted before it was learnt
    double weight = 0;        // of these
    double observations = 0;  // all that were learnt
  };

  // forgetting: the weight that an observation keeps when the next one comes, in (0, 1].
  explicit LinearModel(double forgetting = 0.99);
  explicit LinearModel(const State& state, double forgetting = 0.99);

  // y > 0; others are not learnt.
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
