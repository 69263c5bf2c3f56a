// The cheapest steady clock of the machine, for latencies inside the client loop.
#pragma once

#include <cstdint>
#include <string_view>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include "system.h"

namespace edgejoule::driver {

// Ticks of the invariant cycle counter on x86 (rdtsc), the virtual counter on arm64 (cntvct), else CLOCK_MONOTONIC.
class CycleClock {
 public:
  // Calibrates against CLOCK_MONOTONIC; takes about 20 ms where the counter's rate must be measured.
  CycleClock();

  [[nodiscard]] std::uint64_t now() const {
#if defined(__x86_64__) || defined(__i386__)
    if (counter_) return __rdtsc();
#elif defined(__aarch64__)
    if (counter_) {
      std::uint64_t ticks;
      asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
      return ticks;
    }
#endif
    return now_monotonic_ns();
  }

  // Of a difference of two readings.
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(ticks) * ns_per_tick_q32_) >> 32U);
  }
  [[nodiscard]] std::uint64_t to_ticks(std::uint64_t ns) const {
    return static_cast<std::uint64_t>(static_cast<double>(ns) * 0x1.0p32 / static_cast<double>(ns_per_tick_q32_));
  }

  [[nodiscard]] std::string_view name() const;  // "rdtsc", "cntvct" or "steady_clock"

 private:
  void calibrate();

  bool counter_ = false;
  std::uint64_t ns_per_tick_q32_ = std::uint64_t{1} << 32U;
};

}  // namespace edgejoule::driver
