// Numbers for keys inserted by several clients: what is handed out is not read before it is acknowledged.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "cache_lines.h"

namespace edgejoule::driver {

// Thread safe. At most `window` numbers may be outstanding beyond the first unacknowledged one.
class AcknowledgedCounter {
 public:
  static constexpr std::uint64_t window = 1U << 20U;

  explicit AcknowledgedCounter(std::uint64_t first);

  std::uint64_t next() { return next_.fetch_add(1, std::memory_order_relaxed); }

  // The number is inserted (or given up). Waits while the window is full.
  void acknowledge(std::uint64_t number);

  // All numbers below are acknowledged.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_.load(std::memory_order_acquire); }

 private:
  void advance();

  struct Free {
    void operator()(std::atomic<bool>* flags) const { std::free(flags); }
  };

  std::unique_ptr<std::atomic<bool>[], Free> done_;  // by number modulo window
  alignas(cache_line_bytes) std::atomic<std::uint64_t> next_;
  alignas(cache_line_bytes) std::atomic<std::uint64_t> acknowledged_;
  std::mutex advancing_;
};

}  // namespace edgejoule::driver
