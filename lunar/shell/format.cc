#include "format.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

#include "failure.h"
#include "guard.h"
#include "lunar.h"
#include "posix.h"

namespace shell {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::uint64_t sectors_min = 128;

std::string error_text(const std::string& path, int error) {
  return path + ": " +
         (error == EWOULDBLOCK ? "another process has it open; nothing was written" : std::strerror(error));
}

// The image, of its size; true: it was made now.
bool make_image(const FormatOptions& options) {
  struct stat status {};
  const bool there = stat(options.path.c_str(), &status) == 0;
  if (there && S_ISBLK(status.st_mode)) {
    const auto use = bdtest::in_use(options.path);
    if (!use.empty()) throw Failure(options.path + ": " + use + "; nothing was written");
    if (!options.force) throw Failure(options.path + ": it is a block device; --force overwrites it");
    return false;
  }
  if (there && !S_ISREG(status.st_mode)) throw Failure(options.path + ": neither an image file nor a block device");
  if (there) return false;
  if (options.bytes == 0) throw Failure(options.path + ": no such file; --size 64M creates one of 64 MiB");
  const int descriptor = open(options.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) throw Failure(error_text(options.path, errno));
  const int error = ftruncate(descriptor, static_cast<off_t>(options.bytes)) == 0 ? 0 : errno;
  close(descriptor);
  if (error == 0) return true;
  unlink(options.path.c_str());
  throw Failure(error_text(options.path, error));
}

class Opened {
 public:
  explicit Opened(const FormatOptions& options) : path_(options.path) {
    config.sector_bytes = options.sector_bytes;
    if (const int error = lunar_posix_open(&posix_, &config, path_.c_str(), 0)) throw Failure(error_text(path_, error));
  }
  ~Opened() { lunar_posix_close(&posix_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  // Of a file that is overwritten.
  void resize(std::uint64_t bytes) {
    struct stat status {};
    if (fstat(posix_.descriptor, &status) != 0) throw Failure(error_text(path_, errno));
    const auto wanted = std::min<std::uint64_t>(bytes / config.sector_bytes, UINT32_MAX);
    if (S_ISREG(status.st_mode)) {
      if (ftruncate(posix_.descriptor, static_cast<off_t>(bytes)) != 0) throw Failure(error_text(path_, errno));
    } else if (wanted > config.sector_count) {
      throw Failure(fmt::format("{}: --size is larger than the device", path_));
    }
    config.sector_count = static_cast<std::uint32_t>(wanted);
  }

  // The size of the image, or of the sectors that the volume gets.
  std::uint64_t image_bytes() const {
    struct stat status {};
    const bool is_image = fstat(posix_.descriptor, &status) == 0 && S_ISREG(status.st_mode);
    return is_image ? static_cast<std::uint64_t>(status.st_size)
                    : std::uint64_t{config.sector_count} * config.sector_bytes;
  }

  lunar_config config{};

 private:
  std::string path_;
  lunar_posix posix_{};
};

std::string size_text(std::uint64_t bytes) {
  for (const auto& [unit, name] :
       {std::pair{std::uint64_t{1} << 30, "GiB"}, {std::uint64_t{1} << 20, "MiB"}, {std::uint64_t{1} << 10, "KiB"}})
    if (bytes >= unit) return fmt::format("{:.4g} {}", static_cast<double>(bytes) / static_cast<double>(unit), name);
  return fmt::format(fmt::runtime(bytes == 1 ? "{} byte" : "{} bytes"), bytes);
}

std::string format_opened(const FormatOptions& options, bool made) {
  Opened opened(options);
  auto& config = opened.config;
  if (!made && !options.force) {
    const auto contents = bdtest::contents_of(config);
    if (!contents.empty()) throw Failure(options.path + ": there is " + contents + " on it; --force overwrites it");
    if (bdtest::is_nonzero_file(options.path)) throw Failure(options.path + ": it is not empty; --force overwrites it");
  }
  if (!made && options.bytes != 0) opened.resize(options.bytes);
  std::vector<std::uint64_t> buffer(buffer_bytes / sizeof(std::uint64_t));
  config.buffer = buffer.data(), config.buffer_bytes = buffer_bytes;
  config.mode = LUNAR_MODE_FULL;
  config.log_bytes = static_cast<std::uint32_t>(options.log_bytes);
  config.tables_max = options.tables_max;
  config.seed = std::random_device{}();
  lunar db{};
  lunar_statistics stat{};
  errno = 0;
  int error = lunar_format(&config);
  if (error == 0) error = lunar_mount(&db, &config);
  if (error == 0) error = lunar_stat(&db, &stat);
  if (error == 0) error = lunar_unmount(&db);
  if (error == LUNAR_E_DEVICE)
    throw Failure(fmt::format("{}: {} is too small; a volume has at least {}, and more with a large --log or --tables",
                              options.path, size_text(opened.image_bytes()),
                              size_text(std::uint64_t{sectors_min} * config.sector_bytes)));
  if (error == LUNAR_E_INVALID)
    throw Failure(options.path + ": --log or --tables does not fit the volume (a log has at least 64 sectors)");
  if (error != 0)
    throw Failure(options.path + ": " + lunar_error_text(error) +
                  (error == LUNAR_E_IO && errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
  return fmt::format("{}: an empty volume of {}, sectors of {} bytes, {} for data, a log of {}, up to {} tables",
                     options.path, size_text(std::uint64_t{config.sector_count} * config.sector_bytes),
                     config.sector_bytes, size_text(stat.data_bytes), size_text(stat.log_bytes), stat.tables_max);
}

}  // namespace

std::string format_volume(const FormatOptions& options) {
  const bool made = make_image(options);
  try {
    return format_opened(options, made);
  } catch (const Failure&) {
    if (made) unlink(options.path.c_str());
    throw;
  }
}

}  // namespace shell
