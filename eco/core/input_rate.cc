#include "input_rate.h"

#include <cmath>

namespace eco {

void InputRate::observe(double now_s, std::uint64_t bytes) {
  const bool goes_on = last_s_ && now_s > *last_s_ && bytes >= last_bytes_;
  if (goes_on) {
    const double passed_s = now_s - *last_s_, rate = static_cast<double>(bytes - last_bytes_) / passed_s;
    mean_ = known_ ? rate + (mean_ - rate) * std::exp(-2 * passed_s / window_s_) : rate;
    known_ = true;
  }
  if (goes_on || !last_s_ || bytes < last_bytes_) last_s_ = now_s, last_bytes_ = bytes;
}

}  // namespace eco
