// YCSB's hash of a number: FNV-1a 64 over its eight bytes, low byte first, then the absolute value as Java takes it.
#pragma once

#include <cstdint>

namespace edgejoule::driver {

// At most 2^63: Java's Math.abs leaves the most negative number as it is, which no input is known to reach.
inline std::uint64_t fnv_hash(std::uint64_t number) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (int byte = 0; byte < 8; ++byte) {
    hash ^= number & 0xFFU;
    hash *= 0x100000001B3U;
    number >>= 8U;
  }
  return static_cast<std::int64_t>(hash) < 0 ? 0U - hash : hash;
}

}  // namespace edgejoule::driver
