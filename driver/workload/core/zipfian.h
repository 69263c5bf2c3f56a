// YCSB's zipfian distributions (after Gray et al., SIGMOD 1994). One object per thread.
//
// theta is the skew: 0 is uniform, YCSB's default is 0.99. At theta 1 the formula's exponent 1 / (1 - theta) has a
// pole. The class then draws from the formula's limit, an exponential of a linear function.
#pragma once

#include <cstdint>

#include "hash.h"
#include "system/random.h"
#include "workload/permutation.h"

namespace edgejoule::driver {

inline constexpr double zipfian_theta = 0.99;
inline constexpr double zipfian_theta_max = 10;

// Sum of 1/i^theta for i in (from, to]; relative error below 1e-12.
[[nodiscard]] double zeta(std::uint64_t from, std::uint64_t to, double theta);

// Ranks 0..items-1; rank 0 is the most popular. theta from 0 to zipfian_theta_max.
class Zipfian {
 public:
  explicit Zipfian(std::uint64_t items, double theta = zipfian_theta);
  Zipfian(std::uint64_t items, double theta, double zeta_of_items);

  std::uint64_t next(Random& random) const { return draw(random, items_); }

  // Draws from a larger number of items (never fewer than before). The sum follows the growth. The number of items
  // inside eta stays that of construction, as in YCSB 0.17.0.
  std::uint64_t next(Random& random, std::uint64_t items) {
    if (items > counted_) grow(items);
    return draw(random, items);
  }

 private:
  std::uint64_t draw(Random& random, std::uint64_t items) const;
  void grow(std::uint64_t items);
  [[nodiscard]] double eta() const;

  std::uint64_t items_;
  std::uint64_t counted_;
  double theta_;
  bool pole_;  // theta is 1 or too close to 1 for the formula's precision
  double alpha_;
  double zeta_;
  double zeta_of_two_;
  double rank_one_below_;
  double eta_;  // at the pole: the slope of the exponent
};

// Spreads popular items over 0..items-1 by hashing a zipfian rank out of 10^10 + 1. The ranks therefore do not depend
// on the number of items.
class ScrambledZipfian {
 public:
  explicit ScrambledZipfian(double theta = zipfian_theta);

  std::uint64_t next(Random& random, std::uint64_t items) const { return fnv_hash(ranks_.next(random)) % items; }

 private:
  Zipfian ranks_;
};

// Gives each of the keys first .. first + count - 1 a different rank, so that theta is the skew among them. The mapping
// follows from the count alone, so it is equal for all clients and runs.
class PermutedZipfian {
 public:
  PermutedZipfian(std::uint64_t first, std::uint64_t count, double theta);

  std::uint64_t next(Random& random) const { return first_ + places_.at(ranks_.next(random)); }

 private:
  std::uint64_t first_;
  Permutation places_;
  Zipfian ranks_;
};

// The distance from the newest key is zipfian.
class SkewedLatest {
 public:
  explicit SkewedLatest(std::uint64_t newest, double theta = zipfian_theta) : distances_(newest, theta) {}

  std::uint64_t next(Random& random, std::uint64_t newest) { return newest - distances_.next(random, newest); }

 private:
  Zipfian distances_;
};

}  // namespace edgejoule::driver
