// Absolute deadlines: a late row does not delay later ones, and a missed deadline is skipped.
#pragma once

#include <cstdint>

#include "check.h"

namespace edgejoule::sampler {

class Schedule {
 public:
  // interval_ns: above 0.
  Schedule(std::int64_t start_ns, std::int64_t interval_ns) : next_ns_(start_ns), interval_ns_(interval_ns) {
    SAMPLER_CHECK(interval_ns > 0, interval_ns);
  }

  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }

  // Moves to the first deadline after now_ns. Returns how many deadlines were missed in between.
  std::uint32_t advance(std::int64_t now_ns) {
    const std::int64_t passed = now_ns < next_ns_ ? 0 : (now_ns - next_ns_) / interval_ns_;
    next_ns_ += (passed + 1) * interval_ns_;
    return static_cast<std::uint32_t>(passed);
  }

 private:
  std::int64_t next_ns_;
  std::int64_t interval_ns_;
};

}  // namespace edgejoule::sampler
