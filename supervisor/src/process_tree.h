// The living descendants of a process, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "usage.h"

namespace edgejoule::supervisor {

// Bytes that were fetched from storage, and bytes that were made dirty in the page cache for storage.
struct StorageBytes {
  std::uint64_t read = 0;
  std::uint64_t write = 0;
};

// Without zombies. A process that is started or adopted during the call can be missing: call again until no child is
// left to wait for.
[[nodiscard]] std::vector<pid_t> descendants(pid_t ancestor);

// Of all descendants that nobody has waited for yet; nullopt where one cannot be read.
[[nodiscard]] std::optional<StorageBytes> storage_bytes_of_descendants(pid_t ancestor);

// Of all descendants that nobody has waited for yet, with what they have waited for. CPU time is exact for the
// processes themselves; of what they have waited for it is in the kernel's ticks. A process that cannot be read is left
// out.
[[nodiscard]] Usage usage_of_descendants(pid_t ancestor);

// `process` and the descendants that it has waited for; nullopt where the kernel does not count (or not for this user).
[[nodiscard]] std::optional<StorageBytes> storage_bytes(pid_t process);

// The command's name as the kernel keeps it (15 bytes), "?" for a process that is gone.
[[nodiscard]] std::string process_name(pid_t process);

}  // namespace edgejoule::supervisor
