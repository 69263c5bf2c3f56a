// The directory where a test mounts its disk, in a private mount namespace.
//
// If the process is killed, the kernel removes mounts, loop device and disk. Only an empty directory can remain, which
// the next test removes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace edgejoule::driver {

class Workplace {
 public:
  // Throws std::system_error and std::filesystem::filesystem_error.
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] std::filesystem::path disk() const { return directory_ / "disk"; }
  [[nodiscard]] std::filesystem::path files() const { return directory_ / "files"; }

 private:
  std::filesystem::path directory_;
};

// Name of the disk's file, under which the kernel lists the loop device: edgejoule-durability-PID.img.
[[nodiscard]] std::string disk_file_name();

// What this machine, user or build lacks for a test on the file system, each with its remedy. Empty: nothing is
// missing.
[[nodiscard]] std::vector<std::string> missing_for_test(const std::string& file_system);

// Removes the remains of ended tests and returns their names. Loop devices still attached to such a disk are named but
// not removed.
[[nodiscard]] std::vector<std::string> clear_leftovers();

}  // namespace edgejoule::driver
