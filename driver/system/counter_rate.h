// Measures the rate of a cycle counter from two instants on it and on CLOCK_MONOTONIC, and rejects an unreliable
// counter.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace edgejoule::driver {

// One instant on two clocks.
struct Instant {
  std::uint64_t ticks;
  std::uint64_t ns;
};

// Reads both clocks several times and takes the narrowest pair. The error of `ticks` is at most half its width. A
// thread that loses the processor between two readings spoils only one pair.
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

// ns per tick times 2^32, from two instants on the counter and on CLOCK_MONOTONIC. stated_hz: the rate that the
// processor states, 0 if none. It is used if the measured rate agrees within 0.5 %. nullopt if the counter stood still
// or ran backwards, or if the rates disagree (firmware sets CNTFRQ wrongly, the counter stops in sleep).
[[nodiscard]] inline std::optional<std::uint64_t> ns_per_tick_q32(Instant begin, Instant end, std::uint64_t stated_hz) {
  // Far above the error of clock adjustment (0.05 % at most) and of the two readings; far below that of a wrong rate.
  constexpr double disagreement_max = 0.005;
  const auto q32 = [](double ns_per_tick) { return static_cast<std::uint64_t>(ns_per_tick * 0x1.0p32); };

  if (end.ticks <= begin.ticks || end.ns <= begin.ns) return std::nullopt;
  const double measured = static_cast<double>(end.ns - begin.ns) / static_cast<double>(end.ticks - begin.ticks);
  if (stated_hz == 0) return q32(measured);
  const double stated = 1e9 / static_cast<double>(stated_hz);
  if (std::abs(measured / stated - 1) > disagreement_max) return std::nullopt;
  return q32(stated);
}

}  // namespace edgejoule::driver
