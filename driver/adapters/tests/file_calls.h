// Counts the file system calls of this program, including its databases. The test program defines the C library's
// functions itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace edgejoule::driver {

// How often this thread synced a file of the directory: successful fsync, fdatasync and msync with MS_SYNC, and writes
// to a file opened with O_SYNC or O_DSYNC. sync_file_range does not count, because it omits metadata and the device's
// cache.
[[nodiscard]] std::uint64_t syncs_by_this_thread(const std::filesystem::path& directory);

// Of all threads. Reads: only pread, which SQLite and lunar's device use.
struct FileCalls {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  std::uint64_t syncs = 0;
};

// Since the program began, on the directory's files whose names (without the directory) `which` accepts.
[[nodiscard]] FileCalls file_calls(const std::filesystem::path& directory,
                                   const std::function<bool(std::string_view name)>& which);

}  // namespace edgejoule::driver
