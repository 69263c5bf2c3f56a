// Decides which workers a server avoids after failed jobs, and for how long. Pure; all times come from one clock.
//
// A failed job wastes its application's time until the job is compacted locally. The worker is avoided for at least 1 /
// cost_share times the wasted time, so that a worker that never answers costs at most cost_share of the time. Each
// further failure in a row doubles the pause. After the pause one job tries the worker; the others avoid it until that
// job has ended.
//
// If jobs fail at two workers and succeed at none in between, the network is assumed to be at fault and all workers are
// avoided.
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
    double pause_s_max = 120;  // limits the doubling; cost_share can demand more
  };

  explicit Backoff(const Limits& limits) : limits_(limits) {}
  Backoff() : Backoff(Limits()) {}

  void began(const std::string& worker, double now_s);
  void succeeded(const std::string& worker);
  // wasted_s: from the start of the job until the primary gave it up.
  void failed(const std::string& worker, double wasted_s, double now_s);

  // Seconds until a job may go there; 0: now.
  [[nodiscard]] double left_s(const std::string& worker, double now_s) const;
  [[nodiscard]] double all_left_s(double now_s) const;
  [[nodiscard]] std::uint32_t failures(const std::string& worker) const;  // consecutive
  [[nodiscard]] std::vector<std::string> avoided(double now_s) const;

 private:
  struct Worker {
    std::uint32_t failures = 0;
    double failed_s = 0, pause_s = 0, resume_s = 0;
  };

  Limits limits_;
  std::map<std::string, Worker> workers_;  // whose last job failed
  std::string failed_last_;                // worker of the last failure; empty after any success
  double all_resume_s_ = 0;
};

}  // namespace eco
