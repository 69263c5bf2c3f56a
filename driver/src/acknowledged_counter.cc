#include "acknowledged_counter.h"

#include <new>
#include <thread>

namespace edgejoule::driver {

// calloc leaves the window to the kernel's zero pages: a run without inserts takes no memory for it.
static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free, "zeros are false");

AcknowledgedCounter::AcknowledgedCounter(std::uint64_t first)
    : done_(static_cast<std::atomic<bool>*>(std::calloc(window, sizeof(std::atomic<bool>)))),
      next_(first),
      acknowledged_(first) {
  if (!done_) throw std::bad_alloc();
}

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
