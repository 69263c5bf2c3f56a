// Counts have 64 bits everywhere; what is kept in memory has a std::size_t, of 32 bits on a 32-bit board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

namespace edgejoule::driver {

// The count as a size in memory. Throws std::bad_alloc when it is beyond what this machine can address.
[[nodiscard]] constexpr std::size_t memory_size(std::uint64_t count) {
  if (count > std::numeric_limits<std::size_t>::max()) throw std::bad_alloc();
  return static_cast<std::size_t>(count);
}

}  // namespace edgejoule::driver
