// The Monitor's input rate (Section VI-B): what the application writes, by an exponential moving average.
#pragma once

#include <cstdint>
#include <optional>

namespace eco {

class InputRate {
 public:
  // window_s: the plain moving average of as old data has this window, so the time constant is half of it. The paper's
  // is 3 s, looked at each second.
  explicit InputRate(double window_s = 3) : window_s_(window_s) {}

  // `bytes`: all that was written so far, at `now_s` of any clock. A count that falls begins anew.
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
