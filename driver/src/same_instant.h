// One instant on two clocks.
#pragma once

#include <cstdint>

namespace edgejoule::driver {

struct Instant {
  std::uint64_t ticks;
  std::uint64_t ns;
};

// ticks(), ns(): the clocks. ticks is within half the narrowest of several readings of both, so that a thread that
// loses the processor between two readings spoils one of them and not the result.
template <typename Ticks, typename Nanoseconds>
[[nodiscard]] Instant same_instant(Ticks ticks, Nanoseconds ns) {
  constexpr int tries = 16;
  Instant narrowest{};
  std::uint64_t narrowest_width = ~std::uint64_t{0};
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t before = ticks();
    const std::uint64_t between_ns = ns();
    const std::uint64_t width = ticks() - before;
    if (width >= narrowest_width) continue;
    narrowest = {before + width / 2, between_ns};
    narrowest_width = width;
  }
  return narrowest;
}

}  // namespace edgejoule::driver
