#include "system.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <system_error>

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// A file may vanish while a database compacts: it then counts as nothing.
std::uint64_t file_bytes(const fs::directory_entry& entry) {
  std::error_code failure;
  if (!entry.is_regular_file(failure)) return 0;
  const auto bytes = entry.file_size(failure);
  return failure ? 0 : bytes;
}

std::optional<std::uint64_t> directory_bytes(const fs::path& path) {
  std::error_code failure;
  std::uint64_t total = 0;
  auto entry = fs::recursive_directory_iterator(path, failure);
  for (; !failure && entry != fs::recursive_directory_iterator{}; entry.increment(failure)) total += file_bytes(*entry);
  return failure ? std::nullopt : std::optional{total};
}

std::optional<std::uint64_t> file_and_companions_bytes(const fs::path& path) {
  std::error_code failure;
  std::uint64_t total = fs::file_size(path, failure);
  if (failure) return std::nullopt;
  const auto directory = path.has_parent_path() ? path.parent_path() : fs::path{"."};
  const auto prefix = path.filename().string() + "-";
  for (auto entry = fs::directory_iterator(directory, failure); !failure && entry != fs::directory_iterator{};
       entry.increment(failure)) {
    if (entry->path().filename().string().starts_with(prefix)) total += file_bytes(*entry);
  }
  return failure ? std::nullopt : std::optional{total};
}

}  // namespace

std::uint64_t now_monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::uint64_t now_realtime_ns() { return clock_ns(CLOCK_REALTIME); }

std::optional<std::uint64_t> data_bytes(const fs::path& path) {
  std::error_code failure;
  return fs::is_directory(path, failure) ? directory_bytes(path) : file_and_companions_bytes(path);
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

}  // namespace edgejoule::driver
