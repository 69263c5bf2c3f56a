// Counts have 64 bits everywhere. Sizes in memory are std::size_t, which has 32 bits on a 32-bit board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

namespace edgejoule::driver {

// Converts a count to a size in memory. Throws std::bad_alloc if this machine cannot address it.
[[nodiscard]] constexpr std::size_t memory_size(std::uint64_t count) {
  if (count > std::numeric_limits<std::size_t>::max()) throw std::bad_alloc();
  return static_cast<std::size_t>(count);
}

}  // namespace edgejoule::driver
