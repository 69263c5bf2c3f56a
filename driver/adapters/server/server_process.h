// CPU time of a server on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace edgejoule::driver {

// User and system time of the process and all its descendants, including those that have ended, since the process
// started. nullopt if there is no such process, or if its program is not `name` (the process id of a server in a
// container belongs to another process here).
[[nodiscard]] std::optional<std::uint64_t> process_tree_cpu_ns(long pid, std::string_view name);

[[nodiscard]] std::optional<long> parent_of(long pid);

}  // namespace edgejoule::driver
