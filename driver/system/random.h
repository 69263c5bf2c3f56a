// A small fast random generator. All seeds derive from one seed, so that a run can be repeated with --seed.
#pragma once

#include <bit>
#include <cstdint>

#include "check.h"
#include "wide_product.h"

namespace edgejoule::driver {

// Advances the state and returns the next number (splitmix64; Steele, Lea, Flood 2014). Derives many seeds from one.
inline std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

// xoroshiro128++ (Blackman, Vigna 2019). One per thread.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    low_ = splitmix64(seed);
    high_ = splitmix64(seed);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(low_ + high_, 17) + low_;
    const std::uint64_t mixed = high_ ^ low_;
    low_ = std::rotl(low_, 49) ^ mixed ^ (mixed << 21U);
    high_ = std::rotl(mixed, 28);
    return result;
  }

  // In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  // In [0, bound); bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    EJ_DCHECK(bound > 0);
    return wide_product(next(), bound).high;
  }

 private:
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

}  // namespace edgejoule::driver
