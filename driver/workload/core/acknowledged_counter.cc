#include "acknowledged_counter.h"

#include <chrono>
#include <new>
#include <thread>

#include "system/check.h"

namespace edgejoule::driver {

// calloc maps the window to the kernel's zero page, so that a run without inserts uses no memory for it.
static_assert(sizeof(std::atomic<bool>) == 1 && std::atomic<bool>::is_always_lock_free, "zeros are false");

AcknowledgedCounter::AcknowledgedCounter(std::uint64_t first)
    : done_(static_cast<std::atomic<bool>*>(std::calloc(window, sizeof(std::atomic<bool>)))),
      next_(first),
      acknowledged_(first) {
  if (!done_) throw std::bad_alloc();
}

std::optional<std::uint64_t> AcknowledgedCounter::next(const std::atomic<bool>& stop) {
  constexpr std::chrono::milliseconds full_window_poll_interval{1};
  auto number = next_.load(std::memory_order_relaxed);
  do {
    while (number - acknowledged() >= window) {
      if (stop.load(std::memory_order_relaxed)) return std::nullopt;
      std::this_thread::sleep_for(full_window_poll_interval);
      number = next_.load(std::memory_order_relaxed);
    }
  } while (!next_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
  return number;
}

void AcknowledgedCounter::acknowledge(std::uint64_t number) {
  const auto first = acknowledged();
  EJ_CHECK(number - first < window, number, first);
  EJ_CHECK(number < next_.load(std::memory_order_relaxed), number, next_.load());
  EJ_CHECK(!done_[number % window].load(std::memory_order_relaxed), number);
  done_[number % window].store(true, std::memory_order_release);
  advance();
  if constexpr (debug_checks) check_invariants();
}

// Other threads continue meanwhile. Each value is therefore read at the end where a change can only weaken the
// comparison.
void AcknowledgedCounter::check_invariants() const {
  const auto acknowledged_before = acknowledged();
  const auto issued = next_.load();
  const auto acknowledged_after = acknowledged();
  EJ_CHECK(acknowledged_before <= issued, acknowledged_before, issued);
  EJ_CHECK(acknowledged_before <= acknowledged_after, acknowledged_before, acknowledged_after);
  EJ_CHECK(acknowledged_after >= issued || issued - acknowledged_after <= window, issued, acknowledged_after);
}

// One thread at a time advances. The others leave the work to it, and it checks once more after releasing advancing_.
// Either it sees their flag then, or they see that no thread advances: both writes of advancing_ read its last value.
void AcknowledgedCounter::advance() {
  do {
    if (advancing_.exchange(true, std::memory_order_acq_rel)) return;
    auto number = acknowledged_.load(std::memory_order_relaxed);
    while (done_[number % window].load(std::memory_order_acquire)) {
      done_[number % window].store(false, std::memory_order_relaxed);
      ++number;
    }
    acknowledged_.store(number, std::memory_order_release);
    advancing_.exchange(false, std::memory_order_acq_rel);
  } while (done_[acknowledged() % window].load(std::memory_order_acquire));
}

}  // namespace edgejoule::driver
