// What the lines of /proc/stat about CPUs hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace edgejoule::sampler {

// cpus: online, which is how many have a line of their own. idle_ticks: of all CPUs since the machine's start, in units
// of 1/sysconf(_SC_CLK_TCK) s: idle, iowait and, where the kernel has it, steal.
struct CpuTimes {
  std::int64_t cpus = 0;
  std::int64_t idle_ticks = 0;
};

// text: the whole file. nullopt for a text of another form, and where no CPU has a line of its own.
[[nodiscard]] std::optional<CpuTimes> cpu_times(std::string_view text);

}  // namespace edgejoule::sampler
