// The longest time in which an operation was due or under way and none succeeded: what an outage is to all clients
// together. It ends with the success that ends it, so the latency of that operation is a part of it.
#pragma once

#include <cstdint>
#include <mutex>

#include "system/check.h"
#include "system/cycle_clock.h"

namespace edgejoule::driver {

class SuccessGap {
 public:
  // How often a client need tell of its successes: a gap is told too long by at most that much.
  static constexpr std::uint64_t resolution_ns = 1'000'000;

  explicit SuccessGap(const CycleClock& clock) : clock_(clock), resolution_ticks_(clock.to_ticks(resolution_ns)) {}

  // Times are readings of the clock. begin: before the clients work.
  void begin(std::uint64_t now);

  // An operation succeeded then. From any thread; returns from when on the thread need tell again.
  std::uint64_t succeeded(std::uint64_t at);

  // A client whose last operation succeeded had nothing to do until then: no part of a gap. The same otherwise.
  std::uint64_t idle_until(std::uint64_t at);

  // The clients have ended.
  void end(std::uint64_t now);

  [[nodiscard]] std::uint64_t longest_ns() const { return clock_.to_ns(longest_); }
  [[nodiscard]] std::uint64_t longest_begin_ns() const {  // since begin
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
