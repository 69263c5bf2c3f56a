#include "acknowledged_counter.h"

#include <thread>

namespace edgejoule::driver {

AcknowledgedCounter::AcknowledgedCounter(std::uint64_t first)
    : done_(std::make_unique<std::atomic<bool>[]>(window)), next_(first), acknowledged_(first) {}

void AcknowledgedCounter::acknowledge(std::uint64_t number) {
  while (number - acknowledged() >= window) std::this_thread::yield();
  done_[number % window].store(true, std::memory_order_release);
  advance();
}

void AcknowledgedCounter::advance() {
  const std::lock_guard lock(advancing_);
  auto number = acknowledged_.load(std::memory_order_relaxed);
  while (done_[number % window].exchange(false, std::memory_order_acq_rel)) ++number;
  acknowledged_.store(number, std::memory_order_release);
}

}  // namespace edgejoule::driver
