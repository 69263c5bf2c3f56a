#include "file_system.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t mib = 1024 * 1024;
constexpr std::array<const char*, 3> directories_of_mkfs = {"/usr/sbin", "/sbin", "/usr/local/sbin"};

// Blocks of 4096 bytes, as on larger disks. Everything is initialised now, not later in the background.
std::string make_command(const std::string& file_system) {
  if (file_system == "xfs") return "mkfs.xfs -q -f -K";
  return "mkfs.ext4 -q -F -b 4096 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0";
}

}  // namespace

const std::vector<std::string>& file_system_names() {
  static const std::vector<std::string> names = {"ext4", "xfs"};
  return names;
}

std::uint64_t disk_bytes_min(const std::string& file_system) { return (file_system == "xfs" ? 320 : 32) * mib; }

std::string make_package(const std::string& file_system) { return file_system == "xfs" ? "xfsprogs" : "e2fsprogs"; }

bool can_make(const std::string& file_system) {
  for (const std::filesystem::path directory : directories_of_mkfs) {
    if (access((directory / ("mkfs." + file_system)).c_str(), X_OK) == 0) return true;
  }
  return false;
}

void make_file_system(const std::string& file_system, const std::string& path) {
  const auto command =
      fmt::format("PATH=\"$PATH:/usr/sbin:/sbin:/usr/local/sbin\" {} {} 2>&1", make_command(file_system), path);
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) throw std::system_error(errno, std::generic_category(), make_command(file_system));
  std::string output_text;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, output) != nullptr) output_text += buffer;
  if (pclose(output) != 0) throw std::runtime_error(fmt::format("{}: {}", make_command(file_system), output_text));
}

void leave_mount_namespace() {
  const bool alone = unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  if (!alone) throw std::system_error(errno, std::generic_category(), "a separate mount namespace");
}

PrivateMount::PrivateMount(const FileSystemKind& kind, const std::string& device,
                           const std::filesystem::path& directory)
    : directory_(directory) {
  leave_mount_namespace();
  if (mount(device.c_str(), directory.c_str(), kind.name.c_str(), 0, kind.options.c_str()) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            fmt::format("mount of the {} file system on {}", kind.name, device));
  }
}

PrivateMount::~PrivateMount() { umount2(directory_.c_str(), 0); }

}  // namespace edgejoule::driver
