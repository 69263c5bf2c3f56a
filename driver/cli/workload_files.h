// Finds property files: a path, or the name of a workload that comes with the driver.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace edgejoule::driver {

// The path itself when it exists or names a folder; else the bundled workload of that name. Throws UsageError with the
// nearest name when there is neither.
[[nodiscard]] std::filesystem::path workload_file(const std::string& given);

// The names of the bundled workloads, sorted.
[[nodiscard]] std::vector<std::string> bundled_workloads();

}  // namespace edgejoule::driver
