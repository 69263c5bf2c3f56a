#include "workplace.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

#include "disk.h"
#include "file_system.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view directory_prefix = "edgejoule-durability-";

std::string name_of_this_call() { return fmt::format("{}{}", directory_prefix, getpid()); }

bool process_runs(std::string_view number) {
  pid_t process = 0;
  const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), process);
  if (failure != std::errc{} || end != number.data() + number.size()) return true;  // not one of our directories
  return kill(process, 0) == 0 || errno != ESRCH;
}

bool is_leftover(const fs::path& path) {
  const auto name = path.filename().string();
  return name.starts_with(directory_prefix) && !process_runs(std::string_view(name).substr(directory_prefix.size()));
}

// Removes only empty directories: any contents were not made by a test.
bool removed(const fs::path& directory) {
  std::error_code failure;
  for (const char* part : {"disk", "files"}) fs::remove(directory / part, failure);
  return fs::remove(directory, failure) && !failure;
}

void clear_directories(std::vector<std::string>& cleared) {
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), failure)) {
    if (!is_leftover(entry.path())) continue;
    cleared.push_back(removed(entry.path()) ? fmt::format("{} (removed)", entry.path().string())
                                            : fmt::format("{} (not empty, therefore kept)", entry.path().string()));
  }
}

void name_loop_devices(std::vector<std::string>& named) {
  std::error_code failure;
  for (const auto& device : fs::directory_iterator("/sys/block", failure)) {
    std::ifstream backing(device.path() / "loop" / "backing_file");
    std::string file;
    if (!std::getline(backing, file)) continue;
    const auto begin = file.find(directory_prefix);
    if (begin == std::string::npos) continue;
    const auto number = file.substr(begin + directory_prefix.size());
    if (process_runs(std::string_view(number).substr(0, number.find('.')))) continue;
    named.push_back(
        fmt::format("/dev/{} on {} (detach it with `losetup -d`)", device.path().filename().string(), file));
  }
}

}  // namespace

Workplace::Workplace() : directory_(fs::temp_directory_path() / name_of_this_call()) {
  leave_mount_namespace();
  fs::create_directories(disk());
  fs::create_directories(files());
}

Workplace::~Workplace() { static_cast<void>(removed(directory_)); }

std::string disk_file_name() { return name_of_this_call() + ".img"; }

std::vector<std::string> missing_for_test(const std::string& file_system) {
  std::vector<std::string> missing;
  if (const auto reason = disk_unavailable(); !reason.empty()) missing.push_back(reason);
  if (geteuid() != 0) missing.emplace_back("it needs root to attach a loop device and to mount; run it with sudo");
  if (!can_make(file_system)) {
    missing.push_back(fmt::format("mkfs.{} is not installed; install {}", file_system, make_package(file_system)));
  }
  for (const auto& [device, driver] : {std::pair{"/dev/fuse", "fuse"}, std::pair{"/dev/loop-control", "loop"}}) {
    if (access(device, F_OK) != 0) {
      missing.push_back(
          fmt::format("{} is absent: the kernel's {} driver is not loaded (`modprobe {}`), or this is a "
                      "container without devices",
                      device, driver, driver));
    }
  }
  return missing;
}

std::vector<std::string> clear_leftovers() {
  std::vector<std::string> leftovers;
  clear_directories(leftovers);
  name_loop_devices(leftovers);
  return leftovers;
}

}  // namespace edgejoule::driver
