#include "workload_files.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <system_error>

#include "system/usage_error.h"
#include "workload/known_properties.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

// The folders of the installation and of the build.
std::array<fs::path, 2> folders() {
  std::error_code absent;
  const auto program = fs::read_symlink("/proc/self/exe", absent).parent_path();
  return {program / "../share/edgejoule/workloads", fs::path(EDGEJOULE_WORKLOADS)};
}

}  // namespace

fs::path workload_file(const std::string& given) {
  std::error_code absent;
  const fs::path path(given);
  if (fs::exists(path, absent) || path.has_parent_path()) return path;
  if (path.empty()) throw UsageError("-P \"\": expected a property file, or the name of a workload");
  for (const auto& folder : folders()) {
    if (fs::exists(folder / path, absent)) return folder / path;
  }
  const auto near = nearest(given, bundled_workloads());
  throw UsageError(
      fmt::format("-P {}: cannot be read: no such file, and the driver ships no workload with this name; {}", given,
                  near.empty() ? "`workloads` lists those" : fmt::format("did you mean {}?", near)));
}

std::vector<std::string> bundled_workloads() {
  std::set<std::string> names;
  std::error_code absent;
  for (const auto& folder : folders()) {
    for (const auto& entry : fs::directory_iterator(folder, absent)) {
      if (entry.path().extension() != ".md") names.insert(entry.path().filename().string());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace edgejoule::driver
