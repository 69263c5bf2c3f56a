// Which workers a server leaves alone because jobs failed there, and how long. Pure; times are of any one clock.
//
// A failed job costs its application the time until it is compacted at home. The worker is left alone for at least
// 1 / cost_share times as long, so that one that never answers costs no more than cost_share of the time, and twice as
// long with each further failure in a row. Then one job tries it, and others keep away until that has ended.
//
// Where jobs fail at several workers, and at none succeed in between, the fault is the way to them: then all are left
// alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace eco {

class Backoff {
 public:
  struct Limits {
    double cost_share = 0.05;
    double pause_s_min = 1;
    double pause_s_max = 120;  // for one that fails at once; cost_share holds whatever this says
  };

  explicit Backoff(const Limits& limits) : limits_(limits) {}
  Backoff() : Backoff(Limits()) {}

  void began(const std::string& worker, double now_s);
  void succeeded(const std::string& worker);
  // wasted_s: from the job's begin until it was given up.
  void failed(const std::string& worker, double wasted_s, double now_s);

  // Seconds; 0: a job may go there.
  [[nodiscard]] double left_s(const std::string& worker, double now_s) const;
  [[nodiscard]] double all_left_s(double now_s) const;
  [[nodiscard]] std::uint32_t failures(const std::string& worker) const;  // in a row
  [[nodiscard]] std::vector<std::string> avoided(double now_s) const;

 private:
  struct Worker {
    std::uint32_t failures = 0;
    double failed_s = 0, pause_s = 0, resume_s = 0;
  };

  Limits limits_;
  std::map<std::string, Worker> workers_;  // those that failed last
  std::string failed_last_;                // and at none has a job succeeded since
  double all_resume_s_ = 0;
};

}  // namespace eco
