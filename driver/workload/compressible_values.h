// The values of db_bench. A pool of printable bytes consists of pieces of 100 bytes; the first part of each piece is
// random and the rest repeats it, so that compression leaves about that part. Values are consecutive cuts of the pool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "system/memory_size.h"

namespace edgejoule::driver::db_bench {

// The pool has the same bytes as db_bench's, whatever the seed. All threads share it and only read it.
class CompressibleValues {
 public:
  // compression_ratio: size after compression / size before, 0 to 1. Values may have up to value_bytes_max.
  CompressibleValues(double compression_ratio, std::uint64_t value_bytes_max);

  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline CompressibleValues::CompressibleValues(double compression_ratio, std::uint64_t value_bytes_max) {
  constexpr std::uint64_t pool_bytes_least = 1U << 20U;
  constexpr std::size_t piece_bytes = 100;
  constexpr std::minstd_rand0::result_type pool_seed = 301;
  constexpr std::minstd_rand0::result_type printable = 95;  // ' ' to '~'
  const auto random_bytes = std::max<std::size_t>(1, static_cast<std::size_t>(piece_bytes * compression_ratio));
  const auto least = memory_size(std::max(pool_bytes_least, value_bytes_max));
  bytes_.reserve(least + piece_bytes);
  std::minstd_rand0 random(pool_seed);
  while (bytes_.size() < least) {
    const auto piece = bytes_.size();
    for (std::size_t i = 0; i < piece_bytes; ++i) {
      bytes_ += i < random_bytes ? static_cast<char>(' ' + random() % printable) : bytes_[piece + i - random_bytes];
    }
  }
}

// Cuts values from a pool, and continues at its beginning when the remainder is too short. One per thread.
class ValueCutter {
 public:
  explicit ValueCutter(const CompressibleValues& values) : pool_(values.bytes()) {}

  // The view is valid as long as the pool.
  std::string_view next(std::uint64_t bytes) {
    const auto length = memory_size(bytes);
    if (length > pool_.size() - position_) position_ = 0;
    position_ += length;
    return pool_.substr(position_ - length, length);
  }

 private:
  std::string_view pool_;
  std::size_t position_ = 0;
};

}  // namespace edgejoule::driver::db_bench
