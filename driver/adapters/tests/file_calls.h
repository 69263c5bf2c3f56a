// How often this thread has told the system to bring a file of a directory to storage.
#pragma once

#include <cstdint>
#include <filesystem>

namespace edgejoule::driver {

// Of fsync and fdatasync calls that succeeded, the databases' included: the test program's own definitions of both
// come before the C library's. sync_file_range is none: it leaves metadata and the device's cache alone.
[[nodiscard]] std::uint64_t syncs_by_this_thread(const std::filesystem::path& directory);

}  // namespace edgejoule::driver
