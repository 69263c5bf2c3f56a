#include "watched_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "whole_number.h"

namespace edgejoule::sampler {
namespace {

constexpr std::int64_t open_interval_ns = 100'000'000;
constexpr std::size_t text_bytes_max = 64;  // a number and a newline; longer is none

}  // namespace

WatchedFile::~WatchedFile() { close(); }

WatchedFile::WatchedFile(WatchedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

void WatchedFile::read(Reading& reading, std::int64_t now_ns) {
  if (descriptor_ < 0 && !open(now_ns)) {
    reading.error = open_error_;
    return;
  }
  std::array<char, text_bytes_max> text;
  ssize_t length = 0;
  do {
    length = ::pread(descriptor_, text.data(), text.size(), 0);
  } while (length < 0 && errno == EINTR);
  if (length < 0) {
    reading.error = open_error_ = errno;
    close();
    open_again_ns_ = now_ns + open_interval_ns;
    return;
  }
  const auto value = whole_number(std::string_view(text.data(), static_cast<std::size_t>(length)));
  reading.value = value.value_or(0);
  reading.error = value ? error_none : error_not_a_number;
}

bool WatchedFile::open(std::int64_t now_ns) {
  if (now_ns < open_again_ns_) return false;
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ >= 0) return true;
  open_error_ = errno;
  open_again_ns_ = now_ns + open_interval_ns;
  return false;
}

void WatchedFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace edgejoule::sampler
