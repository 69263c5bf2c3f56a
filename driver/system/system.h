// What the driver asks of the operating system: clocks, sizes, the device under a path, its end with its parent.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace edgejoule::driver {

[[nodiscard]] std::uint64_t now_monotonic_ns();  // CLOCK_MONOTONIC
[[nodiscard]] std::uint64_t now_realtime_ns();   // CLOCK_REALTIME

// The regular files that hold the data: all below a directory, or a file with its companions "path-*" (SQLite's -wal,
// -shm, -journal). nullopt when they cannot be listed.
[[nodiscard]] std::optional<std::vector<std::filesystem::path>> data_files(const std::filesystem::path& path);

// Bytes of these files, holes left out. nullopt when they cannot be listed.
[[nodiscard]] std::optional<std::uint64_t> data_bytes(const std::filesystem::path& path);

// Kernel name ("sda1", "mmcblk0p2") of the block device that holds the path or its nearest existing parent; nullopt
// for file systems without one (tmpfs, overlay).
[[nodiscard]] std::optional<std::string> block_device(const std::filesystem::path& path);

// From now on the kernel kills this process (SIGKILL) when the thread that started it ends; at once when the parent is
// not `expected` any more (0: whatever parent there is). Throws std::system_error.
void die_with_parent(pid_t expected);

}  // namespace edgejoule::driver
