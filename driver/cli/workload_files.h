// Finds property files by path or by the name of a workload that is part of the driver.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace edgejoule::driver {

// Returns the path itself if it exists or names a folder, otherwise the bundled workload of that name. Throws
// UsageError with the nearest name if there is neither.
[[nodiscard]] std::filesystem::path workload_file(const std::string& given);

// The names of the bundled workloads, sorted.
[[nodiscard]] std::vector<std::string> bundled_workloads();

}  // namespace edgejoule::driver
