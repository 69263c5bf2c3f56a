#include "device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "adapters/data_directory.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

constexpr mode_t file_mode = 0644;
constexpr std::uint32_t chunk_bytes = 1U << 20U;

std::string reason() { return std::strerror(errno); }

void make_directory_of(const fs::path& file) {
  if (file.parent_path().empty()) return;
  std::error_code failure;
  fs::create_directories(file.parent_path(), failure);
  if (!failure) return;
  throw DatabaseError(
      fmt::format("cannot create the directory {}: {}; set lunar.path to a file in a directory that "
                  "can be written",
                  file.parent_path().string(), failure.message()));
}

// Returns false on failure; errno has the reason.
bool fill(int descriptor, std::uint64_t bytes, bool allocate) {
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) return false;
  const std::vector<char> zeros(allocate ? chunk_bytes : 0);
  for (std::uint64_t at = 0; allocate && at < bytes;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - at, chunk_bytes));
    const auto written = pwrite(descriptor, zeros.data(), wanted, static_cast<off_t>(at));
    if (written < 0) return false;
    at += static_cast<std::uint64_t>(written);
  }
  return fsync(descriptor) == 0;
}

}  // namespace

void LunarDevice::make(const LunarSettings& settings) {
  make_directory_of(file_);
  const int made = ::open(file_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, file_mode);
  if (made < 0) throw DatabaseError(fmt::format("cannot make the lunar image {}: {}", file_, reason()));
  const bool filled =
      fill(made, settings.size_bytes / settings.sector_bytes * settings.sector_bytes, settings.allocate);
  const std::string why = reason();
  ::close(made);
  if (filled) return;
  ::unlink(file_.c_str());
  throw DatabaseError(fmt::format("cannot make the lunar image {} of {} bytes (lunar.size_bytes): {}", file_,
                                  settings.size_bytes, why));
}

// The kernel refuses the claim for a mounted block device.
void LunarDevice::claim_block_device() {
  struct stat status {};
  if (fstat(posix_.descriptor, &status) != 0 || !S_ISBLK(status.st_mode)) return;
  claim_ = ::open(file_.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC);
  if (claim_ >= 0) return;
  const std::string why = reason();
  lunar_posix_close(&posix_);
  throw DatabaseError(
      fmt::format("cannot use {} for lunar: {}: it is open elsewhere or mounted; close that first", file_, why));
}

LunarDevice::LunarDevice(const LunarSettings& settings, bool create) : file_(settings.file) {
  std::error_code failure;
  if (!fs::exists(file_, failure) && !failure) {
    if (!create) throw DatabaseError(no_database_at(file_, "lunar"));
    make(settings);
  }
  inner_.sector_bytes = settings.sector_bytes;
  if (const int error = lunar_posix_open(&posix_, &inner_, file_.c_str(), settings.direct ? 1 : 0)) {
    const char* way_out = error == EWOULDBLOCK                 ? ": it is open elsewhere; close that first"
                          : error == EINVAL && settings.direct ? "; it may not be able to: set lunar.direct=false"
                                                               : "";
    throw DatabaseError(fmt::format("cannot open the lunar volume {}: {}{}", file_, std::strerror(error), way_out));
  }
  claim_block_device();
  config_.context = this, config_.mounted = inner_.mounted;
  config_.sector_bytes = inner_.sector_bytes;
  config_.sector_count = inner_.sector_count;
  config_.read = [](const lunar_config* config, std::uint32_t sector, void* data, std::uint32_t count) {
    auto& self = *static_cast<LunarDevice*>(config->context);
    const std::uint64_t bytes = std::uint64_t{count} * config->sector_bytes;
    ++self.counts_.reads;
    self.counts_.read_bytes += bytes;
    if (sector >= self.log_begin_ && sector < self.log_end_) self.counts_.log_read_bytes += bytes;
    return self.outcome(self.inner_.read(&self.inner_, sector, data, count));
  };
  config_.write = [](const lunar_config* config, std::uint32_t sector, const void* data, std::uint32_t count) {
    auto& self = *static_cast<LunarDevice*>(config->context);
    const std::uint64_t bytes = std::uint64_t{count} * config->sector_bytes;
    ++self.counts_.writes;
    self.counts_.write_bytes += bytes;
    if (sector >= self.log_begin_ && sector < self.log_end_) self.counts_.log_write_bytes += bytes;
    return self.outcome(self.inner_.write(&self.inner_, sector, data, count));
  };
  config_.sync = [](const lunar_config* config) {
    auto& self = *static_cast<LunarDevice*>(config->context);
    ++self.counts_.flushes;
    return self.outcome(self.inner_.sync(&self.inner_));
  };
}

LunarDevice::~LunarDevice() {
  lunar_posix_close(&posix_);
  if (claim_ >= 0) ::close(claim_);
}

int LunarDevice::outcome(int error) {
  if (error != 0 && failure_ == 0) failure_ = errno;
  return error;
}

std::string LunarDevice::take_failure() {
  const int failure = std::exchange(failure_, 0);
  return failure == 0 ? "" : std::strerror(failure);
}

bool LunarDevice::blank() {
  const auto sectors = std::min<std::uint32_t>(config_.sector_count, chunk_bytes / config_.sector_bytes);
  std::vector<char> begin(std::size_t{sectors} * config_.sector_bytes);
  return inner_.read(&inner_, 0, begin.data(), sectors) == 0 &&
         std::ranges::all_of(begin, [](char byte) { return byte == 0; });
}

bool LunarDevice::still_there() const {
  struct stat open_file {};
  struct stat named_file {};
  return fstat(posix_.descriptor, &open_file) == 0 && stat(file_.c_str(), &named_file) == 0 &&
         open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
}

void LunarDevice::log_lies_at(std::uint64_t begin_bytes, std::uint64_t end_bytes) {
  log_begin_ = static_cast<std::uint32_t>(begin_bytes / config_.sector_bytes);
  log_end_ = static_cast<std::uint32_t>(end_bytes / config_.sector_bytes);
}

}  // namespace edgejoule::driver
