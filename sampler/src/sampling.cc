#include "sampling.h"

#include <poll.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "check.h"
#include "reading.h"
#include "schedule.h"
#include "watched_file.h"

namespace edgejoule::sampler {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t kept_ns = 4 * second_ns;  // readings are kept this long without a request
constexpr std::int64_t kept_rows_min = 256;

enum class Wake : std::uint8_t { deadline, request, end };

std::int64_t now_monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * second_ns + now.tv_nsec;
}

// ppoll costs no more than a sleep, and a request ends it at once.
Wake wait_until(std::int64_t deadline_ns, int requests) {
  const std::int64_t left_ns = std::max<std::int64_t>(0, deadline_ns - now_monotonic_ns());
  const timespec left{static_cast<time_t>(left_ns / second_ns), static_cast<long>(left_ns % second_ns)};
  pollfd asked{requests, POLLIN, 0};
  if (::ppoll(&asked, 1, &left, nullptr) <= 0) return Wake::deadline;
  std::array<char, 64> bytes;
  return ::read(requests, bytes.data(), bytes.size()) > 0 ? Wake::request : Wake::end;
}

class Rows {
 public:
  Rows(std::size_t columns, std::size_t capacity) : columns_(columns), capacity_(capacity) {
    readings_.reserve(columns * capacity);
  }

  [[nodiscard]] bool full() const { return readings_.size() == columns_ * capacity_; }
  void left_out() { ++left_out_; }
  // Adds the readings of one file. The result is valid until the next call.
  std::span<Reading> add(std::size_t count) {
    readings_.resize(readings_.size() + count);
    return std::span(readings_).last(count);
  }

  [[nodiscard]] int write_to(int answers) {
    SAMPLER_CHECK(readings_.size() % columns_ == 0, readings_.size(), columns_);
    FrameHeader header;
    header.rows = static_cast<std::uint32_t>(readings_.size() / columns_);
    header.columns = static_cast<std::uint32_t>(columns_);
    header.full = left_out_;
    std::array<iovec, 2> parts{iovec{&header, sizeof header},
                               iovec{readings_.data(), readings_.size() * sizeof(Reading)}};
    const int failure = write_all(answers, parts);
    readings_.clear();
    left_out_ = 0;
    return failure;
  }

 private:
  static int write_all(int answers, std::array<iovec, 2>& parts) {
    while (parts[0].iov_len + parts[1].iov_len > 0) {
      const ssize_t written = ::writev(answers, parts.data(), 2);
      if (written < 0 && errno != EINTR) return errno;
      auto left = static_cast<std::size_t>(std::max<ssize_t>(0, written));
      for (iovec& part : parts) {
        const std::size_t taken = std::min(left, part.iov_len);
        part.iov_base = static_cast<char*>(part.iov_base) + taken;
        part.iov_len -= taken;
        left -= taken;
      }
    }
    return 0;
  }

  std::size_t columns_;
  std::size_t capacity_;
  std::vector<Reading> readings_;
  std::uint32_t left_out_ = 0;
};

void read_row(std::vector<WatchedFile>& files, Rows& rows, std::uint32_t skipped) {
  if (rows.full()) {
    rows.left_out();
    return;
  }
  std::int64_t before_ns = now_monotonic_ns();
  for (WatchedFile& file : files) {
    const std::span<Reading> readings = rows.add(file.values());
    file.read(readings, before_ns);
    const std::int64_t after_ns = now_monotonic_ns();
    for (Reading& reading : readings) {
      reading.skipped = skipped;
      reading.t_ns = before_ns + (after_ns - before_ns) / 2;
    }
    before_ns = after_ns;
  }
}

}  // namespace

int sample(const Order& order, int requests, int answers) {
  SAMPLER_CHECK(order.interval_ns > 0, order.interval_ns);
  std::vector<WatchedFile> files(order.files.begin(), order.files.end());
  std::size_t columns = 0;
  for (const WatchedFile& file : files) columns += file.values();
  Rows rows(columns, static_cast<std::size_t>(std::max(kept_ns / order.interval_ns, kept_rows_min)));
  Schedule schedule(now_monotonic_ns(), order.interval_ns);
  std::uint32_t skipped = 0;
  for (;;) {
    const Wake wake = wait_until(schedule.next_ns(), requests);
    if (wake == Wake::end) return 0;
    read_row(files, rows, wake == Wake::deadline ? skipped : 0);
    if (wake == Wake::deadline) {
      skipped = schedule.advance(now_monotonic_ns());
    } else if (const int failure = rows.write_to(answers); failure != 0) {
      return failure;
    }
  }
}

}  // namespace edgejoule::sampler
