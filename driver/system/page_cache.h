// The operating system's page cache: how much of a database's files is in it, and how to empty it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace edgejoule::driver {

// Bytes of the file that are in memory, in whole pages, as mincore says. Throws RunFailure when it cannot be looked at:
// mincore wants a file that the caller owns or may write.
[[nodiscard]] std::uint64_t resident_bytes(const std::filesystem::path& file);

struct DroppedCaches {
  std::uint64_t resident_bytes_before;
  std::uint64_t resident_bytes_after;
};

// How much of `bytes` may still be in memory for the caches to count as dropped: a hundredth, at least 16 pages of 4
// KiB (small databases). What other processes have mapped cannot be dropped.
[[nodiscard]] std::uint64_t residency_allowed(std::uint64_t bytes);

// Writes everything dirty to storage, drops the page cache of the machine, and looks whether the data files of `path`
// (system.h) have left it. Needs root. Throws RunFailure when it may not be done or did not help.
[[nodiscard]] DroppedCaches drop_caches(const std::filesystem::path& path);

}  // namespace edgejoule::driver
