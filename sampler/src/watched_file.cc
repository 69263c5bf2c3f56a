#include "watched_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "check.h"
#include "cpu_times.h"
#include "whole_number.h"

namespace edgejoule::sampler {
namespace {

constexpr std::int64_t open_interval_ns = 100'000'000;
constexpr std::size_t number_bytes_max = 64;   // a number and a newline; a longer text is no number
constexpr std::size_t cpu_times_bytes = 4096;  // initial size; a machine with many CPUs or interrupts needs more
constexpr std::size_t cpu_times_bytes_max = 1 << 22;

// Reads with one pread: the kernel creates the text in one piece, so its lines are consistent.
ssize_t read_once(int descriptor, std::vector<char>& buffer) {
  ssize_t length = 0;
  do {
    length = ::pread(descriptor, buffer.data(), buffer.size(), 0);
  } while (length < 0 && errno == EINTR);
  return length;
}

void fail(std::span<Reading> readings, std::int32_t error) {
  for (Reading& reading : readings) reading.error = error;
}

}  // namespace

WatchedFile::WatchedFile(FileOrder order)
    : path_(std::move(order.path)),
      content_(order.content),
      buffer_(content_ == Content::cpu_times ? cpu_times_bytes : number_bytes_max) {}

WatchedFile::~WatchedFile() { close(); }

WatchedFile::WatchedFile(WatchedFile&& other) noexcept
    : path_(std::move(other.path_)),
      content_(other.content_),
      buffer_(std::move(other.buffer_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

void WatchedFile::read(std::span<Reading> readings, std::int64_t now_ns) {
  SAMPLER_CHECK(readings.size() == values(), readings.size(), values());
  if (const std::int32_t error = read_text(now_ns); error != error_none) {
    fail(readings, error);
    return;
  }
  const std::string_view text(buffer_.data(), length_);
  if (content_ == Content::cpu_times) {
    const auto times = cpu_times(text);
    if (!times) return fail(readings, error_no_cpu_times);
    readings[0].value = times->cpus;
    readings[1].value = times->idle_ticks;
    return;
  }
  const auto value = whole_number(text);
  if (!value) return fail(readings, error_not_a_number);
  readings[0].value = *value;
}

// Returns error_none, or the errno of the failure.
std::int32_t WatchedFile::read_text(std::int64_t now_ns) {
  if (descriptor_ < 0 && !open(now_ns)) return open_error_;
  ssize_t length = read_once(descriptor_, buffer_);
  while (content_ == Content::cpu_times && length == static_cast<ssize_t>(buffer_.size()) &&
         buffer_.size() < cpu_times_bytes_max) {
    buffer_.resize(2 * buffer_.size());
    length = read_once(descriptor_, buffer_);
  }
  if (length < 0) {
    open_error_ = errno;
    close();
    reopen_ns_ = now_ns + open_interval_ns;
    return open_error_;
  }
  length_ = static_cast<std::size_t>(length);
  return error_none;
}

bool WatchedFile::open(std::int64_t now_ns) {
  if (now_ns < reopen_ns_) return false;
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ >= 0) return true;
  open_error_ = errno;
  reopen_ns_ = now_ns + open_interval_ns;
  return false;
}

void WatchedFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace edgejoule::sampler
