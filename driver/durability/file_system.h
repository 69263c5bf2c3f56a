// The file system between the database and the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace edgejoule::driver {

struct FileSystemKind {
  std::string name;     // type, as mount names it
  std::string options;  // mount options, separated by commas; empty: the kernel's defaults
};

[[nodiscard]] const std::vector<std::string>& file_system_names();

// The smallest disk that its mkfs accepts, with room to work.
[[nodiscard]] std::uint64_t disk_bytes_min(const std::string& file_system);

// The Debian package that contains its mkfs.
[[nodiscard]] std::string make_package(const std::string& file_system);

// True if its mkfs is installed.
[[nodiscard]] bool can_make(const std::string& file_system);

// Creates the file system on a file or device. Throws std::runtime_error with the message of mkfs.
void make_file_system(const std::string& file_system, const std::string& path);

// Mounts in the mount namespace of the calling process, which no other process sees. The mount ends with the process or
// this object. Throws std::system_error.
class PrivateMount {
 public:
  PrivateMount(const FileSystemKind& kind, const std::string& device, const std::filesystem::path& directory);
  ~PrivateMount();
  PrivateMount(const PrivateMount&) = delete;
  PrivateMount& operator=(const PrivateMount&) = delete;

 private:
  std::filesystem::path directory_;
};

// Moves the process into a new mount namespace. Throws std::system_error.
void leave_mount_namespace();

}  // namespace edgejoule::driver
