#include "success_gap.h"

#include <algorithm>

namespace edgejoule::driver {

void SuccessGap::begin(std::uint64_t now) {
  const std::lock_guard lock(mutex_);
  begin_ = last_ = longest_begin_ = now;
  longest_ = 0;
}

std::uint64_t SuccessGap::succeeded(std::uint64_t at) {
  const std::lock_guard lock(mutex_);
  if (at > last_) {  // otherwise a thread that was preempted reports late
    if (at - last_ > longest_) {
      longest_ = at - last_;
      longest_begin_ = last_;
    }
    last_ = at;
  }
  return at + resolution_ticks_;
}

std::uint64_t SuccessGap::idle_until(std::uint64_t at) {
  const std::lock_guard lock(mutex_);
  last_ = std::max(last_, at);
  return at + resolution_ticks_;
}

void SuccessGap::end(std::uint64_t now) { static_cast<void>(succeeded(now)); }

}  // namespace edgejoule::driver
