// The longest time in which an operation was due or under way and none succeeded: an outage as all clients together see
// it. The gap ends with the next success, so it includes the latency of that operation.
#pragma once

#include <cstdint>
#include <mutex>

#include "system/check.h"
#include "system/cycle_clock.h"

namespace edgejoule::driver {

class SuccessGap {
 public:
  // A client reports successes at most this often. A gap may be overestimated by at most this much.
  static constexpr std::uint64_t resolution_ns = 1'000'000;

  explicit SuccessGap(const CycleClock& clock) : clock_(clock), resolution_ticks_(clock.to_ticks(resolution_ns)) {}

  // Times are readings of the clock. Call begin() before the clients work.
  void begin(std::uint64_t now);

  // Reports that an operation succeeded. Any thread may call it. Returns the time before which the thread need not
  // report a further success.
  std::uint64_t succeeded(std::uint64_t at);

  // Reports that a client whose last operation succeeded had nothing to do until `at`; idle time is no part of a gap.
  // Returns as succeeded() does.
  std::uint64_t idle_until(std::uint64_t at);

  // Call after the clients have ended.
  void end(std::uint64_t now);

  [[nodiscard]] std::uint64_t longest_ns() const { return clock_.to_ns(longest_); }
  [[nodiscard]] std::uint64_t longest_begin_ns() const {  // ns since begin()
    EJ_CHECK(longest_begin_ >= begin_, longest_begin_, begin_);
    return clock_.to_ns(longest_begin_ - begin_);
  }

 private:
  const CycleClock& clock_;
  const std::uint64_t resolution_ticks_;
  std::mutex mutex_;
  std::uint64_t begin_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t longest_begin_ = 0;
};

}  // namespace edgejoule::driver
