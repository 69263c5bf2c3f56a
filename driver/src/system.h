// What the driver asks of the operating system: clocks, sizes, the device under a path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace edgejoule::driver {

[[nodiscard]] std::uint64_t now_monotonic_ns();  // CLOCK_MONOTONIC
[[nodiscard]] std::uint64_t now_realtime_ns();   // CLOCK_REALTIME

// Bytes of the file, or of all files below the directory; a file "path" counts with its companions "path-*"
// (SQLite's -wal, -shm, -journal). nullopt when it cannot be read.
[[nodiscard]] std::optional<std::uint64_t> data_bytes(const std::filesystem::path& path);

// Kernel name ("sda1", "mmcblk0p2") of the block device that holds the path or its nearest existing parent; nullopt
// for file systems without one (tmpfs, overlay).
[[nodiscard]] std::optional<std::string> block_device(const std::filesystem::path& path);

}  // namespace edgejoule::driver
