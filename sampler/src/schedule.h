// Absolute deadlines: a late row does not shift the later ones, and one that has passed is not made up for.
#pragma once

#include <cstdint>

namespace edgejoule::sampler {

class Schedule {
 public:
  // interval_ns: above 0.
  Schedule(std::int64_t start_ns, std::int64_t interval_ns) : next_ns_(start_ns), interval_ns_(interval_ns) {}

  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }

  // To the first deadline after now; returns how many in between had passed unused.
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
