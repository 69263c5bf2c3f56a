// The zipfian distributions of YCSB (after Gray et al., SIGMOD 1994), one object per thread.
#pragma once

#include <cstdint>

#include "random.h"

namespace edgejoule::driver {

inline constexpr double zipfian_theta = 0.99;

// Sum of 1/i^theta for i in (from, to]; relative error below 1e-12.
[[nodiscard]] double zeta(std::uint64_t from, std::uint64_t to, double theta);

// Ranks 0..items-1, rank 0 the most popular.
class Zipfian {
 public:
  explicit Zipfian(std::uint64_t items, double theta = zipfian_theta);
  Zipfian(std::uint64_t items, double theta, double zeta_of_items);

  std::uint64_t next(Random& random) const { return draw(random, items_); }

  // The same over a grown number of items (never fewer than before). The sum follows the growth; the number of items
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
  double alpha_;
  double zeta_;
  double zeta_of_two_;
  double rank_one_below_;
  double eta_;
};

// Popular items spread over [first, last] by hashing a zipfian rank out of 10^10 + 1, so that growth of the key space
// does not move them.
class ScrambledZipfian {
 public:
  ScrambledZipfian(std::uint64_t first, std::uint64_t last);
  explicit ScrambledZipfian(std::uint64_t first, std::uint64_t last, const Zipfian& ranks);

  std::uint64_t next(Random& random) const;

 private:
  std::uint64_t first_;
  std::uint64_t count_;
  Zipfian ranks_;
};

// Distance from the newest key is zipfian.
class SkewedLatest {
 public:
  explicit SkewedLatest(std::uint64_t newest) : distances_(newest) {}

  std::uint64_t next(Random& random, std::uint64_t newest) { return newest - distances_.next(random, newest); }

 private:
  Zipfian distances_;
};

}  // namespace edgejoule::driver
