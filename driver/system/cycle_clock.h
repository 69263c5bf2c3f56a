// The cheapest steady clock of the machine, for latencies inside the client loop.
#pragma once

#include <cstdint>
#include <string_view>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include "check.h"
#include "system.h"
#include "wide_product.h"

namespace edgejoule::driver {

// Ticks of the invariant cycle counter on x86 (rdtsc) or the virtual counter on arm64 (cntvct). CLOCK_MONOTONIC on
// other machines, and if the counter disagrees with CLOCK_MONOTONIC.
class CycleClock {
 public:
  // Takes about 20 ms if there is a counter, to measure its rate against CLOCK_MONOTONIC.
  CycleClock();

  [[nodiscard]] std::uint64_t now() const { return counter_ ? counter_ticks() : now_monotonic_ns(); }

  // ticks: the difference of two readings.
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const {
    const auto product = wide_product(ticks, ns_per_tick_q32_);
    EJ_DCHECK(product.high >> 32U == 0, ticks, ns_per_tick_q32_);
    return (product.high << 32U) | (product.low >> 32U);
  }
  [[nodiscard]] std::uint64_t to_ticks(std::uint64_t ns) const {
    return static_cast<std::uint64_t>(static_cast<double>(ns) * 0x1.0p32 / static_cast<double>(ns_per_tick_q32_));
  }

  [[nodiscard]] std::string_view name() const;  // "rdtsc", "cntvct" or "steady_clock"

 private:
  static std::uint64_t counter_ticks() {
#if defined(__x86_64__) || defined(__i386__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return now_monotonic_ns();
#endif
  }

  bool counter_ = false;
  std::uint64_t ns_per_tick_q32_ = std::uint64_t{1} << 32U;
};

}  // namespace edgejoule::driver
