#include "work.h"

#include <utility>

namespace edgejoule::driver {

const CycleClock& cycle_clock() {
  static const CycleClock clock;
  return clock;
}

Work::Work(std::uint64_t the_seed, unsigned the_threads)
    : seed(the_seed), threads(the_threads), clock(cycle_clock()), gap(clock) {}

void Work::fail(Failure failure) {
  const std::lock_guard lock(failing_);
  if (!failure_) failure_ = std::move(failure);
  stop.store(true, std::memory_order_relaxed);
}

std::optional<Failure> Work::failure() const {
  const std::lock_guard lock(failing_);
  return failure_;
}

}  // namespace edgejoule::driver
