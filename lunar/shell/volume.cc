#include "volume.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "failure.h"
#include "guard.h"
#include "interruption.h"
#include "standard_files.h"

namespace shell {
namespace {

std::string why_not_opened(const std::string& path, int error) {
  if (error == ENOENT) return path + ": no such file; `lunar --format --size 64M " + path + "` creates an image";
  if (error == EACCES || error == EPERM || error == EROFS)
    return path + ": " + std::strerror(error) +
           "; --read-only needs fewer rights; a device needs its group (often disk) or root";
  if (error == EWOULDBLOCK) return path + ": another process has it open; `fuser " + path + "` prints its process id";
  return path + ": " + std::strerror(error);
}

// Opens nothing that blocks, as a pipe would.
void require_image(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
    throw Failure(path + ": neither an image file nor a block device");
}

}  // namespace

Device::Device(const VolumeOptions& options)
    : buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(options.buffer_bytes)) {
  require_image(options.path);
  inner_.sector_bytes = options.sector_bytes;
  if (options.read_only)
    open_to_read(options.path);
  else if (const int error = lunar_posix_open(&posix_, &inner_, options.path.c_str(), 0))
    throw Failure(why_not_opened(options.path, error) +
                  (error == EWOULDBLOCK ? " (--read-only allows several readers and no writer)" : ""));
  config = inner_;
  config.context = this;
  config.buffer = buffer_.get(), config.buffer_bytes = options.buffer_bytes;
  config.mode = options.mode, config.skip_unreadable = options.skip_damage ? 1 : 0;
  config.read = [](const lunar_config* self, std::uint32_t sector, void* data, std::uint32_t count) {
    return static_cast<Device*>(self->context)->read_sectors(sector, static_cast<std::uint8_t*>(data), count);
  };
  config.write = [](const lunar_config* self, std::uint32_t sector, const void* data, std::uint32_t count) {
    auto& device = *static_cast<Device*>(self->context);
    const auto size = self->sector_bytes;
    const auto* from = static_cast<const std::uint8_t*>(data);
    if (device.descriptor_ >= 0) {
      for (std::uint32_t i = 0; i < count; ++i, from += size) device.kept_[sector + i] = Sector(from, from + size);
      return 0;
    }
    errno = 0;
    const int error = device.inner_.write(&device.inner_, sector, data, count);
    if (error != 0) device.errno_ = errno;
    return error;
  };
  config.sync = [](const lunar_config* self) {
    auto& device = *static_cast<Device*>(self->context);
    if (device.descriptor_ >= 0) return 0;
    const int error = device.inner_.sync(&device.inner_);
    if (error != 0) device.errno_ = errno;
    return error;
  };
  config.progress = [](const lunar_config* self) {
    const auto& device = *static_cast<Device*>(self->context);
    return device.stops && device.stops() ? 1 : 0;
  };
}

Device::~Device() {
  if (descriptor_ >= 0)
    close(descriptor_);
  else
    lunar_posix_close(&posix_);
}

void Device::open_to_read(const std::string& path) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw Failure(why_not_opened(path, errno));
  if (flock(descriptor_, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(descriptor_);
    throw Failure(why_not_opened(path, EWOULDBLOCK));
  }
  const auto bytes = lseek(descriptor_, 0, SEEK_END);
  const auto sectors = static_cast<std::uint64_t>(std::max<off_t>(bytes, 0)) / inner_.sector_bytes;
  inner_.sector_count = static_cast<std::uint32_t>(std::min<std::uint64_t>(sectors, UINT32_MAX));
}

int Device::read_sectors(std::uint32_t sector, std::uint8_t* data, std::uint32_t count) {
  if (interruption::fail_now()) return -1;
  errno = 0;
  if (descriptor_ < 0) {
    const int error = inner_.read(&inner_, sector, data, count);
    if (error != 0) errno_ = errno;
    return error;
  }
  const auto size = inner_.sector_bytes;
  for (; count > 0; --count, ++sector, data += size) {
    if (const auto kept = kept_.find(sector); kept != kept_.end()) {
      std::ranges::copy(kept->second, data);
    } else if (pread(descriptor_, data, size, static_cast<off_t>(sector) * size) != static_cast<ssize_t>(size)) {
      errno_ = errno;
      return -1;
    }
  }
  return 0;
}

std::string Device::failure() const { return errno_ != 0 ? std::string(": ") + std::strerror(errno_) : ""; }

Volume::Volume(const VolumeOptions& options) : options_(options) { mount(); }

Volume::~Volume() {
  if (mounted_ && lunar_unmount(&db_) != 0) mounted_ = false;
}

void Volume::mount() {
  const bool known = options_.sector_bytes != 0;
  if (!known) options_.sector_bytes = 512;
  device_ = std::make_unique<Device>(options_);
  int error = lunar_mount(&db_, &device_->config);
  if (!known && (error == LUNAR_E_INVALID || error == LUNAR_E_NO_VOLUME)) {  // the sectors of the other size?
    device_.reset();
    VolumeOptions other = options_;
    other.sector_bytes = 4096;
    device_ = std::make_unique<Device>(other);
    const int second = lunar_mount(&db_, &device_->config);
    if (second != LUNAR_E_NO_VOLUME) error = second, options_ = other;
  }
  if (error == LUNAR_E_DEVICE && bdtest::contents_of(device_->config) != bdtest::lunar_volume)
    throw Failure(options_.path + ": not a lunar volume");
  if (error == LUNAR_E_VERSION)
    throw Failure(
        fmt::format("{}: the volume has version {} of the format, and this lunar has version {}\n"
                    "  `.dump FILE` of a lunar of version {} writes it as SQL, and `.read FILE` of this one reads that",
                    options_.path, lunar_refused_version(&db_), LUNAR_FORMAT_VERSION, lunar_refused_version(&db_)));
  if (error != 0) throw Failure(options_.path + ": " + explain(error));
  mounted_ = true;
  if (options_.skip_damage) repair_tables();
}

// Damage in the log may leave pages of later operations in place: lunar asks for a repair of every table then.
void Volume::repair_tables() {
  std::uint16_t number = 0;
  char name[LUNAR_NAME_MAX + 1];
  while (lunar_table_list(&db_, &number, name) == 0) {
    lunar_table table;
    std::uint64_t rows = 0;
    lunar_losses losses{};
    if (lunar_table_open(&db_, name, &table) != 0 || lunar_count(&table, &rows) != LUNAR_E_CORRUPT) continue;
    if (const int error = lunar_repair(&table, &losses)) throw Failure(options_.path + ": " + explain(error));
    if (losses.rows + losses.blocks != 0)
      print_error(fmt::format("lunar: {}: given up: {} rows, {} blocks of rows\n", name, losses.rows, losses.blocks));
  }
}

std::string Volume::explain(int error) const {
  if (error == LUNAR_E_TXN_FULL && lunar_log_wanted(&db_) != 0)
    return fmt::format("{}; up to where it failed it needed {} KiB of log", advice(error),
                       (std::uint64_t{lunar_log_wanted(&db_)} * db_.config->sector_bytes + 1023) / 1024);
  return advice(error) + (error == LUNAR_E_IO || error == LUNAR_E_FAILED ? device_->failure() : "");
}

void Volume::remount() {
  mounted_ = false;
  if (lunar_unmount(&db_) != 0) interruption::clear();
  device_.reset();
  mount();
}

bool Volume::close() {
  const bool open = lunar_rollback(&db_) == 0;
  mounted_ = false;
  if (const int error = lunar_unmount(&db_)) throw Failure(options_.path + ": at the end: " + explain(error));
  return open;
}

}  // namespace shell
