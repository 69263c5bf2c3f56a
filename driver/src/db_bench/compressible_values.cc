#include "compressible_values.h"

#include <algorithm>
#include <random>

namespace edgejoule::driver::db_bench {
namespace {

constexpr std::uint64_t pool_bytes_least = 1U << 20U;
constexpr std::size_t piece_bytes = 100;
constexpr std::minstd_rand0::result_type pool_seed = 301;
constexpr std::minstd_rand0::result_type printable = 95;  // ' ' to '~'

}  // namespace

CompressibleValues::CompressibleValues(double compression_ratio, std::uint64_t value_bytes_max) {
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

}  // namespace edgejoule::driver::db_bench
