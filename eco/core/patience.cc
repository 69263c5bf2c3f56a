#include "patience.h"

#include <fmt/format.h>

#include <limits>

namespace eco {

double Patience::remainder_s(double now_s) const {
  if (limits_.usual_s <= 0) return -1;
  if (!began_s_) return now_s - begin_s_ < limits_.usual_s + 1 ? -1 : std::numeric_limits<double>::infinity();
  // The speed is unreliable until part of the time has passed.
  const double elapsed_s = now_s - *began_s_, part = done_ - done_first_;
  if (elapsed_s < std::max(1.0, limits_.usual_s / 2)) return -1;
  return part > 0 ? elapsed_s * (1 - done_) / part : std::numeric_limits<double>::infinity();
}

std::string Patience::exhausted(double now_s) const {
  if (now_s - begin_s_ > limits_.total_s) return fmt::format("no result after {:.1f} s", limits_.total_s);
  if (received_) return "";
  if (now_s - heard_s_ > limits_.heartbeat_s)
    return fmt::format("no answer from the worker for {:.1f} s", limits_.heartbeat_s);
  if (now_s - moved_s_ > limits_.standstill_s)
    return fmt::format("the worker has made no progress for {:.1f} s", limits_.standstill_s);
  const double remainder_now_s = remainder_s(now_s);
  if (remainder_now_s > limits_.usual_s)
    return fmt::format("it is slow: {:.1f} s left, {:.1f} s are usual", remainder_now_s, limits_.usual_s);
  return "";
}

}  // namespace eco
