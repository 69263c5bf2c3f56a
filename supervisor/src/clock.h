// CLOCK_MONOTONIC, the clock of all reports.
#pragma once

#include <time.h>

#include <cstdint>

namespace edgejoule::supervisor {

constexpr std::int64_t second_ns = 1'000'000'000;

[[nodiscard]] inline std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * second_ns + now.tv_nsec;
}

}  // namespace edgejoule::supervisor
