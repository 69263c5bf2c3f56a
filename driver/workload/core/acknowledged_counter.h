// Numbers for keys inserted by several clients: what is handed out is not read before it is acknowledged.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

#include "system/cache_lines.h"

namespace edgejoule::driver {

// Thread safe. At most `window` numbers are outstanding: handed out and neither acknowledged nor below the first that
// is not acknowledged.
class AcknowledgedCounter {
 public:
  static constexpr std::uint64_t window = 1U << 20U;

  explicit AcknowledgedCounter(std::uint64_t first);

  // Waits while the window is full, as when one client gets no answer and the others insert on. Empty when `stop` is
  // set in that time.
  [[nodiscard]] std::optional<std::uint64_t> next(const std::atomic<bool>& stop);

  // The number, which was handed out, is inserted (or given up). Once per number. Never waits.
  void acknowledge(std::uint64_t number);

  // All numbers below are acknowledged.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_.load(std::memory_order_acquire); }

  // No number is acknowledged that was not handed out, and no more than `window` are outstanding. From any thread.
  void check_invariants() const;

 private:
  void advance();

  struct Free {
    void operator()(std::atomic<bool>* flags) const { std::free(flags); }
  };

  std::unique_ptr<std::atomic<bool>[], Free> done_;  // by number modulo window
  alignas(cache_line_bytes) std::atomic<std::uint64_t> next_;
  alignas(cache_line_bytes) std::atomic<std::uint64_t> acknowledged_;
  alignas(cache_line_bytes) std::atomic<bool> advancing_ = false;
};

}  // namespace edgejoule::driver
