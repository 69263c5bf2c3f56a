// What this program, the databases in it included, asks the system to do with files: the test program's own definitions
// of the C library's calls come before it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace edgejoule::driver {

// How often this thread has told the system to bring a file of the directory to storage: fsync, fdatasync and msync
// with MS_SYNC that succeeded, and writes to a file opened with O_SYNC or O_DSYNC. sync_file_range is none: it leaves
// metadata and the device's cache alone.
[[nodiscard]] std::uint64_t syncs_by_this_thread(const std::filesystem::path& directory);

// Of all threads. Reads: pread alone, which SQLite and lunar's device use.
struct FileCalls {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  std::uint64_t syncs = 0;
};

// Since the program began, on the files of the directory whose names (without it) `which` accepts.
[[nodiscard]] FileCalls file_calls(const std::filesystem::path& directory,
                                   const std::function<bool(std::string_view name)>& which);

}  // namespace edgejoule::driver
