// The operating system's page cache: how much of a database's files it holds, and how to empty it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace edgejoule::driver {

// Bytes of the file in memory, in whole pages (mincore). Throws RunFailure if they cannot be determined: mincore needs
// a file that the caller owns or may write.
[[nodiscard]] std::uint64_t resident_bytes(const std::filesystem::path& file);

struct DroppedCaches {
  std::uint64_t resident_bytes_before;
  std::uint64_t resident_bytes_after;
};

// How many of `bytes` may remain in memory after dropping: one hundredth, at least 16 pages of 4 KiB for small
// databases. Pages that other processes have mapped cannot be dropped.
[[nodiscard]] std::uint64_t residency_allowed(std::uint64_t bytes);

// Writes all dirty pages to storage, drops the machine's page cache, and checks that the data files of `path`
// (system.h) have left it. Needs root. Throws RunFailure if this is not permitted or had no effect.
[[nodiscard]] DroppedCaches drop_caches(const std::filesystem::path& path);

}  // namespace edgejoule::driver
