// The results of a simulated run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace eco::sim {

struct Energy {  // J; all except idle is marginal, by the server that spends it
  double idle = 0, application = 0, flush = 0, compaction = 0, others_jobs = 0, serving = 0, network = 0;

  [[nodiscard]] double marginal() const { return application + flush + compaction + others_jobs + serving + network; }
  [[nodiscard]] double total() const { return idle + marginal(); }
  Energy& operator+=(const Energy& o) {
    idle += o.idle, application += o.application, flush += o.flush, compaction += o.compaction;
    others_jobs += o.others_jobs, serving += o.serving, network += o.network;
    return *this;
  }
};

// Mean absolute relative error of predictions made before the observation.
struct Error {
  double sum = 0, count = 0;

  void add(double predicted, double actual) {
    if (actual > 0) sum += predicted > actual ? predicted / actual - 1 : 1 - predicted / actual, count += 1;
  }
  [[nodiscard]] double mean() const { return count > 0 ? sum / count : 0; }
  Error& operator+=(const Error& o) { return sum += o.sum, count += o.count, *this; }
};

// An offloaded compaction, from the decision until its result was installed, wherever it ran in the end.
struct Away {
  double took_s = 0;
  bool slow = false;  // at a slow worker
};

struct ServerOutcome {
  std::string name, tier{};
  double writes = 0, reads = 0;  // operations
  double stopped_s = 0;          // writes stopped by level 0
  double delayed_s = 0;          // slept in delays
  double memtable_s = 0;         // waits for a flush
  double level0_mean = 0, level0_max = 0;
  double compactions = 0;  // level 0 compactions that ended
  double near_stall = 0;   // decisions in which Equation 2 predicted a stall
  double near_stall_offloaded = 0, offloaded = 0, fell_back = 0;
  double given_up = 0;      // offloaded jobs given up as slow
  double bytes_moved = 0;   // table bytes of this server's offloaded jobs
  double wasted_bytes = 0;  // of failed jobs
  double wasted_cpu_s = 0;  // at workers, of failed jobs
  double jobs_taken = 0;    // guest jobs that ended
  std::vector<Away> away{};
  Energy energy{};
  Error time{}, job_energy{}, input{};  // prediction errors after a server's first 20 jobs; of the input rate

  [[nodiscard]] double operations() const { return writes + reads; }
  [[nodiscard]] double stall_s() const { return stopped_s + delayed_s; }
  ServerOutcome& operator+=(const ServerOutcome& o);
};

// A compaction that a model learnt from, with its prediction.
struct LearntJob {
  std::string server, home;          // where it ran, and its home
  double at_s = 0, jobs_before = 0;  // jobs that this server had learnt from
  double input_bytes = 0, input_entries = 0;
  double took_s = 0, energy_j = 0, predicted_s = 0, predicted_j = 0;
};

// The application's input between two observations, with its prediction.
struct InputSample {
  std::string server;
  double at_s = 0, bytes_s = 0, predicted_bytes_s = 0;
};

struct Outcome {
  std::string policy;
  std::uint64_t seed = 0;
  double duration_s = 0;
  std::vector<ServerOutcome> servers;
  std::uint64_t events = 0, decisions = 0;
  std::vector<float> decision_us;  // CPU time of each decision; the only result that a seed does not reproduce

  std::vector<LearntJob> jobs;  // if the experiment records them
  std::vector<InputSample> input_samples;

  [[nodiscard]] ServerOutcome total() const;
};

inline ServerOutcome& ServerOutcome::operator+=(const ServerOutcome& o) {
  writes += o.writes, reads += o.reads;
  stopped_s += o.stopped_s, delayed_s += o.delayed_s, memtable_s += o.memtable_s;
  level0_mean += o.level0_mean, level0_max = std::max(level0_max, o.level0_max);
  compactions += o.compactions, near_stall += o.near_stall, near_stall_offloaded += o.near_stall_offloaded;
  offloaded += o.offloaded, fell_back += o.fell_back, jobs_taken += o.jobs_taken;
  given_up += o.given_up;
  bytes_moved += o.bytes_moved, wasted_bytes += o.wasted_bytes, wasted_cpu_s += o.wasted_cpu_s;
  away.insert(away.end(), o.away.begin(), o.away.end());
  energy += o.energy, time += o.time, job_energy += o.job_energy, input += o.input;
  return *this;
}

inline ServerOutcome Outcome::total() const {
  ServerOutcome all{.name = "total"};
  for (const auto& server : servers) all += server;
  all.level0_mean /= static_cast<double>(std::max<std::size_t>(servers.size(), 1));
  return all;
}

}  // namespace eco::sim
