// A pseudo-random permutation of 0 .. count - 1 in constant memory: a Feistel network over the next power of four,
// iterated until the result is below count (cycle walking; Black, Rogaway 2002).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "system/check.h"
#include "system/random.h"

namespace edgejoule::driver {

class Permutation {
 public:
  // 0 < count <= 2^62.
  Permutation(std::uint64_t count, std::uint64_t seed)
      : count_(count), half_bits_(std::max(1U, (static_cast<unsigned>(std::bit_width(count - 1)) + 1) / 2)) {
    EJ_CHECK(count > 0 && count <= std::uint64_t{1} << 62U, count);
    for (auto& key : keys_) key = splitmix64(seed);
  }

  // The number at a position < count.
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const {
    EJ_DCHECK(place < count_, place, count_);  // otherwise two positions have the same number
    do place = mixed(place);
    while (place >= count_);
    return place;
  }

 private:
  [[nodiscard]] std::uint64_t mixed(std::uint64_t number) const {
    const auto mask = (std::uint64_t{1} << half_bits_) - 1;
    auto left = number >> half_bits_;
    auto right = number & mask;
    for (const auto key : keys_) {
      auto state = right ^ key;
      const auto next = left ^ (splitmix64(state) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t count_;
  unsigned half_bits_;
  std::array<std::uint64_t, 4> keys_;
};

}  // namespace edgejoule::driver
