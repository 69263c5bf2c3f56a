#include "cycle_clock.h"

#include <chrono>
#include <thread>

#include "counter_rate.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace edgejoule::driver {
namespace {

#if defined(__x86_64__) || defined(__i386__)

constexpr std::string_view counter_name = "rdtsc";

// The counter runs in all sleep states and at a rate independent of the processor's frequency.
bool counter_is_steady() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned invariant_bit = 1U << 8U;
  return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & invariant_bit) != 0;
}

std::uint64_t stated_hz() { return 0; }

#elif defined(__aarch64__)

constexpr std::string_view counter_name = "cntvct";

// The architecture guarantees it (Arm ARM, "The Generic Timer"). The measured rate shows whether this machine obeys.
bool counter_is_steady() { return true; }

std::uint64_t stated_hz() {
  std::uint64_t frequency_hz;
  asm("mrs %0, cntfrq_el0" : "=r"(frequency_hz));
  return frequency_hz;
}

#else

constexpr std::string_view counter_name;

bool counter_is_steady() { return false; }

std::uint64_t stated_hz() { return 0; }

#endif

}  // namespace

CycleClock::CycleClock() {
  if (!counter_is_steady()) return;
  constexpr std::chrono::milliseconds calibration{20};
  const auto begin = same_instant(counter_ticks, now_monotonic_ns);
  std::this_thread::sleep_for(calibration);  // spinning would cost energy
  const auto end = same_instant(counter_ticks, now_monotonic_ns);
  const auto rate = ns_per_tick_q32(begin, end, stated_hz());
  if (!rate) return;
  ns_per_tick_q32_ = *rate;
  counter_ = true;
}

std::string_view CycleClock::name() const { return counter_ ? counter_name : "steady_clock"; }

}  // namespace edgejoule::driver
