// The Monitor's input rate (Section VI-B): an exponential moving average of the bytes that the application writes.
#pragma once

#include <cstdint>
#include <optional>

namespace eco {

class InputRate {
 public:
  // window_s: length of the plain moving average whose data has the same mean age; the time constant is half of it. The
  // paper averages over 3 s, sampled each second.
  explicit InputRate(double window_s = 3) : window_s_(window_s) {}

  // bytes: the total written so far. now_s: by any one clock. A falling total restarts the average.
  void observe(double now_s, std::uint64_t bytes);

  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] double bytes_s() const { return mean_; }

 private:
  double window_s_, mean_ = 0;
  bool known_ = false;
  std::optional<double> last_s_;
  std::uint64_t last_bytes_ = 0;
};

}  // namespace eco
