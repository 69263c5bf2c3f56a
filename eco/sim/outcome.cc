#include "outcome.h"

#include <algorithm>

namespace eco::sim {

ServerOutcome& ServerOutcome::operator+=(const ServerOutcome& o) {
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

ServerOutcome Outcome::total() const {
  ServerOutcome all{.name = "total"};
  for (const auto& server : servers) all += server;
  all.level0_mean /= static_cast<double>(std::max<std::size_t>(servers.size(), 1));
  return all;
}

}  // namespace eco::sim
