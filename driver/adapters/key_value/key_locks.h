// Locks by key, so that a read-modify-write on a store without partial updates loses no other thread's fields.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <string_view>

#include "system/cache_lines.h"

namespace edgejoule::driver {

class KeyLocks {
 public:
  // Two keys may share a lock; a holder must not take a second one.
  [[nodiscard]] std::unique_lock<std::mutex> hold(std::string_view key) {
    return std::unique_lock(stripes_[std::hash<std::string_view>{}(key) % stripes_.size()].mutex);
  }

 private:
  static constexpr std::size_t stripe_count = 1024;

  struct alignas(cache_line_bytes) Stripe {  // a cache line each: neighbours do not slow each other down
    std::mutex mutex;
  };

  std::array<Stripe, stripe_count> stripes_;
};

}  // namespace edgejoule::driver
