#include "stall.h"

#include <algorithm>
#include <limits>

namespace eco {

double LevelZero::until(double trigger) const {
  if (files >= trigger) return 0;
  return files_s > 0 ? (trigger - files) / files_s : std::numeric_limits<double>::infinity();
}

double LevelZero::lost_within(double seconds) const {
  const double slow_from = until(slowdown), stop_from = until(stop);
  const double slow = std::max(0.0, std::min(seconds, stop_from) - slow_from);
  return std::max(0.0, seconds - stop_from) + delayed * slow;
}

}  // namespace eco
