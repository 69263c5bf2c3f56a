// Numbers of keys that several clients insert. No client reads a key before its insert is acknowledged.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

#include "system/cache_lines.h"

namespace edgejoule::driver {

// Thread safe. At most `window` numbers are outstanding, counted from the first number that is not acknowledged.
class AcknowledgedCounter {
 public:
  static constexpr std::uint64_t window = 1U << 20U;

  explicit AcknowledgedCounter(std::uint64_t first);

  // Hands out the next number. Waits while the window is full, for example while one client gets no answer and the
  // others insert. Returns nothing if `stop` is set meanwhile.
  [[nodiscard]] std::optional<std::uint64_t> next(const std::atomic<bool>& stop);

  // Reports that the number was inserted (or given up). Once per number handed out. Never waits.
  void acknowledge(std::uint64_t number);

  // All numbers below this one are acknowledged.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_.load(std::memory_order_acquire); }

  // Every acknowledged number was handed out, and at most `window` are outstanding. Any thread may call it.
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
