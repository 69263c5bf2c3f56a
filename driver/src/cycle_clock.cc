#include "cycle_clock.h"

#include "same_instant.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace edgejoule::driver {
namespace {

// A counter that neither stops nor changes its rate with the processor's frequency.
bool counter_is_steady() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned invariant_bit = 1U << 8U;
  return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & invariant_bit) != 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

}  // namespace

CycleClock::CycleClock() : counter_(counter_is_steady()) {
  if (counter_) calibrate();
}

void CycleClock::calibrate() {
#if defined(__aarch64__)
  std::uint64_t frequency_hz;
  asm("mrs %0, cntfrq_el0" : "=r"(frequency_hz));
  ns_per_tick_q32_ = static_cast<std::uint64_t>(1e9 * 0x1.0p32 / static_cast<double>(frequency_hz));
#else
  constexpr std::uint64_t calibration_ns = 20'000'000;
  const auto ticks_now = [this] { return now(); };
  const auto begin = same_instant(ticks_now, now_monotonic_ns);
  while (now_monotonic_ns() - begin.ns < calibration_ns) continue;
  const auto end = same_instant(ticks_now, now_monotonic_ns);
  ns_per_tick_q32_ = static_cast<std::uint64_t>(static_cast<double>(end.ns - begin.ns) * 0x1.0p32 /
                                                static_cast<double>(end.ticks - begin.ticks));
#endif
}

std::string_view CycleClock::name() const {
  if (!counter_) return "steady_clock";
#if defined(__aarch64__)
  return "cntvct";
#else
  return "rdtsc";
#endif
}

}  // namespace edgejoule::driver
