// The running descendants of a process, read from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "usage.h"

namespace edgejoule::supervisor {

// Bytes read from storage, and bytes made dirty in the page cache for storage.
struct StorageBytes {
  std::uint64_t read = 0;
  std::uint64_t write = 0;
};

// Without zombies. A process started or adopted during the call may be missing. Call repeatedly until no child is left
// to wait for.
[[nodiscard]] std::vector<pid_t> descendants(pid_t ancestor);

// Sum over all descendants that have not been waited for. nullopt if one cannot be read.
[[nodiscard]] std::optional<StorageBytes> storage_bytes_of_descendants(pid_t ancestor);

// Usage of all descendants that have not been waited for, including that of children they have waited for. CPU time is
// exact for the descendants; for the children they have waited for it has the resolution of the kernel's ticks. A
// process that cannot be read is left out.
[[nodiscard]] Usage usage_of_descendants(pid_t ancestor);

// Of `process` and the descendants that it has waited for. nullopt if the kernel does not count, or not for this user.
[[nodiscard]] std::optional<StorageBytes> storage_bytes(pid_t process);

// The command's name in the kernel (15 bytes); "?" if the process is gone.
[[nodiscard]] std::string process_name(pid_t process);

}  // namespace edgejoule::supervisor
