// What a simulated run gives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace eco::sim {

struct Energy {  // J; all but idle is marginal, of the server that spends it
  double idle = 0, application = 0, flush = 0, compaction = 0, others_jobs = 0, serving = 0, network = 0;

  [[nodiscard]] double marginal() const { return application + flush + compaction + others_jobs + serving + network; }
  [[nodiscard]] double total() const { return idle + marginal(); }
  Energy& operator+=(const Energy& o) {
    idle += o.idle, application += o.application, flush += o.flush, compaction += o.compaction;
    others_jobs += o.others_jobs, serving += o.serving, network += o.network;
    return *this;
  }
};

// Mean of absolute relative errors, each of a prediction made before.
struct Error {
  double sum = 0, count = 0;

  void add(double predicted, double actual) {
    if (actual > 0) sum += predicted > actual ? predicted / actual - 1 : 1 - predicted / actual, count += 1;
  }
  [[nodiscard]] double mean() const { return count > 0 ? sum / count : 0; }
  Error& operator+=(const Error& o) { return sum += o.sum, count += o.count, *this; }
};

// A compaction that went elsewhere, from the decision until it was installed, wherever that was done in the end.
struct Away {
  double took_s = 0;
  bool slow = false;  // its worker was slow
};

struct ServerOutcome {
  std::string name, tier{};
  double writes = 0, reads = 0;  // operations
  double stopped_s = 0;          // writes stopped by level 0
  double delayed_s = 0;          // and slept through its delays
  double memtable_s = 0;         // waited for a flush
  double level0_mean = 0, level0_max = 0;
  double compactions = 0;  // of level 0, ended
  double near_stall = 0;   // of those decided, where Equation 2 held
  double near_stall_offloaded = 0, offloaded = 0, fell_back = 0;
  double given_up = 0;      // jobs elsewhere that were slow
  double bytes_moved = 0;   // of tables, by this server's jobs elsewhere
  double wasted_bytes = 0;  // of them, by jobs that brought nothing
  double wasted_cpu_s = 0;  // of such jobs' workers
  double jobs_taken = 0;    // of other servers, ended
  std::vector<Away> away{};
  Energy energy{};
  Error time{}, job_energy{}, input{};  // of predictions, after 20 jobs of a server; of the input rate

  [[nodiscard]] double operations() const { return writes + reads; }
  [[nodiscard]] double stall_s() const { return stopped_s + delayed_s; }
  ServerOutcome& operator+=(const ServerOutcome& o);
};

// A compaction that was learnt from, and what had been predicted for it.
struct LearntJob {
  std::string server, home;          // where it ran, and whose it was
  double at_s = 0, jobs_before = 0;  // that this server had learnt
  double input_bytes = 0, input_entries = 0;
  double took_s = 0, energy_j = 0, predicted_s = 0, predicted_j = 0;
};

// The application's input between two looks, and what had been predicted.
struct InputLook {
  std::string server;
  double at_s = 0, bytes_s = 0, predicted_bytes_s = 0;
};

struct Outcome {
  std::string policy;
  std::uint64_t seed = 0;
  double duration_s = 0;
  std::vector<ServerOutcome> servers;
  std::uint64_t events = 0, decisions = 0;
  std::vector<float> decision_us;  // CPU time of each decision; the one thing that no seed repeats

  std::vector<LearntJob> jobs;  // where the experiment wants them recorded
  std::vector<InputLook> looks;

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
