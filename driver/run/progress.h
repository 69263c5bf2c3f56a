// Progress on standard error: a bar on a terminal, YCSB's status lines with -s.
#pragma once

#include <cstdint>
#include <string>

#include "invocation.h"
#include "measurements.h"

namespace edgejoule::driver {

class Progress {
 public:
  explicit Progress(const Invocation& invocation);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // interval: the measurements since the last call.
  void show(const std::string& phase, std::uint64_t done, double elapsed_s, double rate_ops_s,
            const Measurements& interval);
  void note(const std::string& phase);

  // After the last show(): prints a status line for the remaining interval and removes the bar.
  void end(std::uint64_t done, double elapsed_s);

  // Removes the bar.
  void clear();

 private:
  void draw_bar(const std::string& phase, std::uint64_t done, double elapsed_s, double rate_ops_s);
  void status_line(std::uint64_t done, double elapsed_s, const std::string& left);
  [[nodiscard]] double share(std::uint64_t done, double elapsed_s) const;

  std::uint64_t planned_;  // 0: the run ends after seconds_max
  double seconds_max_;
  bool bar_;
  bool drawn_ = false;
  std::string label_;
  double status_interval_s_;  // 0: no status lines
  double next_status_s_;
  double last_status_s_ = 0;
  std::uint64_t last_status_done_ = 0;
  Measurements since_status_;
};

}  // namespace edgejoule::driver
