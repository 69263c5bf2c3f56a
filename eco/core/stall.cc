#include "stall.h"

#include <algorithm>
#include <limits>

namespace eco {

double LevelZero::until(double limit) const {
  if (files >= limit) return 0;
  return files_s > 0 ? (limit - files) / files_s : std::numeric_limits<double>::infinity();
}

double LevelZero::lost_within(double seconds) const {
  const double slow_from = std::min(until(slowdown), until(stop));
  // Between the triggers level 0 grows at the delayed rate.
  const double growth = files_s * (1 - delayed), left = stop - std::max(files, slowdown);
  const double slow_for = left <= 0 ? 0 : growth > 0 ? left / growth : std::numeric_limits<double>::infinity();
  const double slow = std::clamp(seconds - slow_from, 0.0, slow_for);
  return std::max(0.0, seconds - slow_from - slow_for) + delayed * slow;
}

double LevelZero::behind() const {
  const double begins = trigger > 0 ? trigger : slowdown / 5;
  return begins > 0 ? std::clamp(files / begins - 1, 0.0, 1.0) : 0;
}

}  // namespace eco
