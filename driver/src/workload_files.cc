#include "workload_files.h"

#include <system_error>
#include <vector>

namespace edgejoule::driver {

std::filesystem::path workload_file(const std::string& given) {
  std::error_code absent;
  const std::filesystem::path path(given);
  if (std::filesystem::exists(path, absent) || path.has_parent_path()) return path;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", absent).parent_path();
  for (const auto& folder : {program / "../share/edgejoule/workloads", std::filesystem::path(EDGEJOULE_WORKLOADS)}) {
    if (std::filesystem::exists(folder / path, absent)) return folder / path;
  }
  return path;
}

}  // namespace edgejoule::driver
