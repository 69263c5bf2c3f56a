// YCSB's hash of a number: FNV-1a 64 over its eight bytes, low byte first, then Java's absolute value.
#pragma once

#include <cstdint>

namespace edgejoule::driver {

// At most 2^63: Java's Math.abs leaves the most negative number unchanged. No input is known to give it.
inline std::uint64_t fnv_hash(std::uint64_t number) {
  constexpr std::uint64_t prime = 0x100000001B3U;
  constexpr std::uint64_t prime_to_the_fourth = prime * prime * prime * prime;
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto add_four_bytes = [&hash](std::uint64_t bytes) {
    for (int byte = 0; byte < 4; ++byte, bytes >>= 8U) hash = (hash ^ (bytes & 0xFFU)) * prime;
  };
  add_four_bytes(number);
  if (const auto high = number >> 32U; high == 0) {
    hash *= prime_to_the_fourth;  // most numbers are small, and a zero byte is only a multiplication
  } else {
    add_four_bytes(high);
  }
  return static_cast<std::int64_t>(hash) < 0 ? 0U - hash : hash;
}

}  // namespace edgejoule::driver
