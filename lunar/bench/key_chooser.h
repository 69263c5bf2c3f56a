// Rows by Zipf's law or evenly, scattered over the keys. Zipf as Gray et al., SIGMOD '94, draw it.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace lunar_bench {

class KeyChooser {
 public:
  KeyChooser(std::int64_t rows, double skew) : rows_(rows), skew_(skew) {
    if (skew == 0) return;
    for (std::int64_t i = 1; i <= rows; ++i) zeta_ += 1 / std::pow(static_cast<double>(i), skew);
    const double zeta2 = 1 + std::pow(0.5, skew);
    eta_ = (1 - std::pow(2.0 / static_cast<double>(rows), 1 - skew)) / (1 - zeta2 / zeta_);
  }

  std::int64_t operator()(std::mt19937_64& random) const {
    if (skew_ == 0) return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows_));
    const double u = std::uniform_real_distribution<>(0, 1)(random), uz = u * zeta_;
    std::uint64_t rank = 0;
    if (uz >= 1) {
      rank =
          uz < 1 + std::pow(0.5, skew_)
              ? 1
              : static_cast<std::uint64_t>(static_cast<double>(rows_) * std::pow(eta_ * u - eta_ + 1, 1 / (1 - skew_)));
    }
    return static_cast<std::int64_t>(scattered(rank) % static_cast<std::uint64_t>(rows_));
  }

 private:
  // The finaliser of MurmurHash3.
  static std::uint64_t scattered(std::uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdU;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53U;
    return x ^ x >> 33;
  }

  std::int64_t rows_;
  double skew_, zeta_ = 0, eta_ = 0;
};

}  // namespace lunar_bench
