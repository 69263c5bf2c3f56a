// CPU time of a server that runs on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace edgejoule::driver {

// User and system time of the process and all its descendants, those that ended included, since the process began.
// nullopt when there is no such process, or it is another program than `name` (a server in a container tells a number
// that means another process here).
[[nodiscard]] std::optional<std::uint64_t> process_tree_cpu_ns(long pid, std::string_view name);

[[nodiscard]] std::optional<long> parent_of(long pid);

}  // namespace edgejoule::driver
