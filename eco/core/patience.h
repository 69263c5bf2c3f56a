// Limits how long a primary waits for a job; every wait is bounded. Pure; all times come from one clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace eco {

class Patience {
 public:
  struct Limits {
    double heartbeat_s = 3;    // without a message from the worker
    double standstill_s = 10;  // without another byte read or written
    double total_s = 600;      // in any case
    double usual_s = 0;        // of a local compaction, or of this job if predicted longer; 0: unknown
  };

  Patience(const Limits& limits, std::uint64_t input_bytes, double now_s)
      : limits_(limits),
        input_bytes_(static_cast<double>(input_bytes)),
        begin_s_(now_s),
        heard_s_(now_s),
        moved_s_(now_s) {}

  void heard(double now_s) { heard_s_ = now_s; }
  void progressed(double now_s, std::uint64_t read_bytes, std::uint64_t written_bytes) {
    heard(now_s);
    const double sum = static_cast<double>(read_bytes + written_bytes);
    if (sum > moved_) moved_ = sum, moved_s_ = now_s;
    done_ = input_bytes_ > 0 ? std::min(1.0, static_cast<double>(read_bytes) / input_bytes_) : 0;
    if (!began_s_ && read_bytes > 0) began_s_ = now_s, done_first_ = done_;
  }
  // The primary has the worker's result; only work at home remains.
  void received() { received_ = true; }

  // Predicted remaining seconds. The speed counts from the first bytes read, because a slow server needs time to start.
  // Negative: unknown yet.
  [[nodiscard]] double remainder_s(double now_s) const;
  // Returns why the job is given up; empty: keep waiting.
  [[nodiscard]] std::string exhausted(double now_s) const;

 private:
  Limits limits_;
  double input_bytes_, begin_s_, heard_s_, moved_s_, moved_ = 0, done_ = 0, done_first_ = 0;
  std::optional<double> began_s_;
  bool received_ = false;
};

}  // namespace eco
