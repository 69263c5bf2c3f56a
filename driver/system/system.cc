#include "system.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

std::optional<std::vector<fs::path>> files_below(const fs::path& directory) {
  std::error_code failure;
  std::vector<fs::path> files;
  auto entry = fs::recursive_directory_iterator(directory, failure);
  for (; !failure && entry != fs::recursive_directory_iterator{}; entry.increment(failure)) {
    std::error_code vanished;
    if (entry->is_regular_file(vanished)) files.push_back(entry->path());
  }
  return failure ? std::nullopt : std::optional{files};
}

std::optional<std::vector<fs::path>> file_and_companions(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return std::nullopt;
  std::vector<fs::path> files = {path};
  const auto directory = path.has_parent_path() ? path.parent_path() : fs::path{"."};
  const auto prefix = path.filename().string() + "-";
  for (auto entry = fs::directory_iterator(directory, failure); !failure && entry != fs::directory_iterator{};
       entry.increment(failure)) {
    std::error_code vanished;
    if (entry->path().filename().string().starts_with(prefix) && entry->is_regular_file(vanished)) {
      files.push_back(entry->path());
    }
  }
  return failure ? std::nullopt : std::optional{files};
}

// A file may vanish while a database compacts. It then counts as 0 bytes.
std::uint64_t file_bytes(const fs::path& file) {
  constexpr std::uint64_t block_bytes = 512;  // unit of st_blocks on every file system
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return 0;
  return std::min(static_cast<std::uint64_t>(status.st_size),
                  static_cast<std::uint64_t>(status.st_blocks) * block_bytes);
}

}  // namespace

std::uint64_t now_monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::uint64_t now_realtime_ns() { return clock_ns(CLOCK_REALTIME); }

std::optional<std::vector<fs::path>> data_files(const fs::path& path) {
  std::error_code failure;
  return fs::is_directory(path, failure) ? files_below(path) : file_and_companions(path);
}

std::optional<std::uint64_t> data_bytes(const fs::path& path) {
  const auto files = data_files(path);
  if (!files) return std::nullopt;
  std::uint64_t total = 0;
  for (const auto& file : *files) total += file_bytes(file);
  return total;
}

std::optional<std::string> block_device(const fs::path& path) {
  std::error_code failure;
  auto place = fs::absolute(path, failure);
  if (failure) return std::nullopt;
  while (!fs::exists(place, failure) && place.has_relative_path()) place = place.parent_path();
  struct stat status {};
  if (::stat(place.c_str(), &status) != 0) return std::nullopt;
  const auto device = S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev;
  const auto link = fs::canonical(fmt::format("/sys/dev/block/{}:{}", major(device), minor(device)), failure);
  if (failure) return std::nullopt;
  return link.filename().string();
}

void die_with_parent(pid_t expected) {
  const pid_t parent = expected == 0 ? getppid() : expected;
  if (prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL)) != 0) {
    throw std::system_error(errno, std::generic_category(), "--die-with-parent");
  }
  // If the parent ended before the call, the kernel sends no signal.
  if (getppid() != parent) raise(SIGKILL);
}

}  // namespace edgejoule::driver
