// Locks by key. On a store without partial updates they prevent a read-modify-write from losing another thread's
// fields.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <string_view>

#include "system/cache_lines.h"

namespace edgejoule::driver {

class KeyLocks {
 public:
  // Two keys may share a lock, so a holder must not take a second one.
  [[nodiscard]] std::unique_lock<std::mutex> hold(std::string_view key) {
    return std::unique_lock(stripes_[std::hash<std::string_view>{}(key) % stripes_.size()].mutex);
  }

 private:
  static constexpr std::size_t stripe_count = 1024;

  struct alignas(cache_line_bytes) Stripe {  // one cache line each, against false sharing
    std::mutex mutex;
  };

  std::array<Stripe, stripe_count> stripes_;
};

}  // namespace edgejoule::driver
