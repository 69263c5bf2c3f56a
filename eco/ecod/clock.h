// Seconds of a monotonic clock that continues while the machine or the process sleeps, as a lease needs.
#pragma once

#include <time.h>

#include <chrono>

namespace eco {

inline double boot_clock_s() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline double unix_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace eco
