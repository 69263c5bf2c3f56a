// The place where a test mounts its disk: a directory of its own, in a mount namespace that nobody else sees.
//
// When the process is killed, the kernel takes mounts, loop device and disk away with it; an empty directory is all
// that can stay behind. The next test finds and removes it.
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

// The disk's file, by which the kernel names the loop device: edgejoule-durability-PID.img.
[[nodiscard]] std::string disk_file_name();

// What this machine, user or build lacks for a test on the file system, each with the way out; empty: nothing.
[[nodiscard]] std::vector<std::string> missing_for_test(const std::string& file_system);

// Removes what ended calls left behind and returns its names, loop devices that still hang on such a disk included
// (these are only named).
[[nodiscard]] std::vector<std::string> clear_leftovers();

}  // namespace edgejoule::driver
