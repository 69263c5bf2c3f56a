// The file system between the database and the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace edgejoule::driver {

struct FileSystemKind {
  std::string name;     // as mount knows it
  std::string options;  // of mount, separated by commas; empty: the kernel's defaults
};

[[nodiscard]] const std::vector<std::string>& file_system_names();

// The smallest disk that its mkfs takes, with room to work.
[[nodiscard]] std::uint64_t disk_bytes_min(const std::string& file_system);

// The Debian package of its mkfs.
[[nodiscard]] std::string make_package(const std::string& file_system);

// Whether mkfs for it is installed.
[[nodiscard]] bool can_make(const std::string& file_system);

// Makes the file system on a file or device. Throws std::runtime_error with the words of mkfs.
void make_file_system(const std::string& file_system, const std::string& path);

// Mounts in a mount namespace of the calling process, where nobody else sees it; the mount ends with the process or
// with this object. Throws std::system_error.
class PrivateMount {
 public:
  PrivateMount(const FileSystemKind& kind, const std::string& device, const std::filesystem::path& directory);
  ~PrivateMount();
  PrivateMount(const PrivateMount&) = delete;
  PrivateMount& operator=(const PrivateMount&) = delete;

 private:
  std::filesystem::path directory_;
};

// From now on the process's mounts are its own. Throws std::system_error.
void leave_mount_namespace();

}  // namespace edgejoule::driver
