// Services of the operating system: clocks, sizes, the device under a path, ending with the parent process.
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

// The regular files that hold the data: all files below a directory, or a file and its companions "path-*" (SQLite's
// -wal, -shm, -journal). nullopt if they cannot be listed.
[[nodiscard]] std::optional<std::vector<std::filesystem::path>> data_files(const std::filesystem::path& path);

// Bytes allocated to these files, without holes. nullopt if they cannot be listed.
[[nodiscard]] std::optional<std::uint64_t> data_bytes(const std::filesystem::path& path);

// Kernel name ("sda1", "mmcblk0p2") of the block device that holds the path or its nearest existing parent. nullopt on
// file systems without a device (tmpfs, overlay).
[[nodiscard]] std::optional<std::string> block_device(const std::filesystem::path& path);

// Makes the kernel kill this process (SIGKILL) when the thread that started it ends, or at once if the parent is not
// `expected` (0: any parent). Throws std::system_error.
void die_with_parent(pid_t expected);

}  // namespace edgejoule::driver
