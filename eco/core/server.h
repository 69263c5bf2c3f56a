// What the Tracker knows of a server: a line of its table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compaction_model.h"

namespace eco {

struct Power {
  double busy_core_w = 0;          // above idle, of one busy core
  double idle_w = 0;               // of the server
  double transfer_j_per_byte = 0;  // above idle, of a byte that the server sends or receives
};

struct Server {
  std::string name;
  std::string address;         // of its worker, host:port; empty: it takes no jobs
  std::string rocksdb;         // the release it compacts with, "7.8.3"
  double cores = 1;            // that it may use
  double busy_cores = 0;       // of them, in use
  double link_bytes_s = 0;     // of its network
  double network_bytes_s = 0;  // in use
  std::uint32_t slots = 1;     // jobs that it runs at a time
  std::uint32_t jobs = 0;      // that run there or wait
  double jobs_s = 0;           // until the last of them ends, as predicted
  bool alive = false;          // it was heard of in time
  bool draining = false;       // its operator wants it empty
  Power power;
  std::optional<double> battery;  // what is left of it, in [0, 1]; without one: mains
  double energy_weight = 1;       // price of a joule here, relative
  double core_speed = 0;          // of the core or the part of one that a job gets there, by one measure; 0: not known
  CompactionModel model;          // of its own compactions
  CompactionModel guest;          // of others' that ran there: a process each, what it reads and writes is sent
  CompactionModel residual;       // of what stays there of jobs that run elsewhere: to serve, receive and verify
  CompactionModel overhead;       // seconds that such jobs took beyond their compute there and their bytes on the link
                                  // (both of staying())

  // The part of a core that a job can have.
  [[nodiscard]] double usable_core() const { return cores < 1 ? cores : 1; }
  // It takes a job, which may have to wait for a slot.
  [[nodiscard]] bool reachable(double busy_max) const {
    return alive && !draining && !address.empty() && slots > 0 && busy_cores <= busy_max * cores &&
           (link_bytes_s <= 0 || network_bytes_s <= busy_max * link_bytes_s);
  }
  // The paper's binary table (Section VI-B): it takes a job now.
  [[nodiscard]] bool takes_jobs(double busy_max) const { return reachable(busy_max) && jobs < slots; }
};

}  // namespace eco
