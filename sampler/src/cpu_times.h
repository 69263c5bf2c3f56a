// Parses the CPU lines of /proc/stat.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace edgejoule::sampler {

// cpus: CPUs online, each of which has its own line. idle_ticks: idle and iowait time of all CPUs since the machine
// started, plus steal if the kernel reports it, in units of 1/sysconf(_SC_CLK_TCK) s.
struct CpuTimes {
  std::int64_t cpus = 0;
  std::int64_t idle_ticks = 0;
};

// text: the whole file. nullopt if the format is not known, or if no CPU has its own line.
[[nodiscard]] std::optional<CpuTimes> cpu_times(std::string_view text);

}  // namespace edgejoule::sampler
