// Finds property files: a path, or the name of a workload that comes with the driver.
#pragma once

#include <filesystem>
#include <string>

namespace edgejoule::driver {

// The path itself when it exists; else the bundled workload of that name; else the path itself, for the message.
[[nodiscard]] std::filesystem::path workload_file(const std::string& given);

}  // namespace edgejoule::driver
