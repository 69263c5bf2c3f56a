// Replaces disk.cc in a build without libfuse3. The command then names the package to install.
#include "disk.h"

namespace edgejoule::driver {

std::string disk_unavailable() {
  return "this build has no libfuse3; install libfuse3-dev, then `cmake --preset release` and build";
}

Disk::Disk(const DiskContent& /*content*/, const std::filesystem::path& /*mount_point*/) {
  throw std::runtime_error(disk_unavailable());
}

Disk::~Disk() = default;

std::string Disk::missed_requests(const BlockTrace& /*trace*/) const { throw std::runtime_error(disk_unavailable()); }

}  // namespace edgejoule::driver
