// The Tracker's record of one server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compaction_model.h"

namespace eco {

struct Power {
  double busy_core_w = 0;          // of one busy core, above idle
  double idle_w = 0;               // of the server
  double transfer_j_per_byte = 0;  // of a byte sent or received, above idle
};

struct Server {
  std::string name;
  std::string address;         // of its worker, HOST:PORT; empty: it takes no jobs
  std::string rocksdb;         // its release of RocksDB, "7.8.3"
  double cores = 1;            // cores that it may use
  double busy_cores = 0;       // cores in use
  double link_bytes_s = 0;     // capacity of its network
  double network_bytes_s = 0;  // network use
  std::uint32_t slots = 1;     // jobs that it runs at the same time
  std::uint32_t jobs = 0;      // running or waiting
  double jobs_s = 0;           // predicted seconds until the last of them ends
  bool alive = false;          // its heartbeat is in time
  bool draining = false;       // its operator stopped new jobs
  Power power;
  std::optional<double> battery;  // charge, in [0, 1]; none: mains
  double energy_weight = 1;       // relative price of a joule here
  double core_speed = 0;          // speed of the core share that a job gets; unit common to all servers; 0: unknown
  CompactionModel model;          // of this server's compactions
  CompactionModel guest;          // of guest jobs: one process each, data over the network
  CompactionModel residual;       // of the home's part of offloaded jobs: serving, receiving, verifying
  CompactionModel overhead;       // seconds that such jobs took beyond their compute there and their bytes on the link
                                  // (both of staying())

  // The share of a core that one job can use.
  [[nodiscard]] double usable_core() const { return cores < 1 ? cores : 1; }
  // Accepts a job, which may have to wait for a slot.
  [[nodiscard]] bool reachable(double busy_max) const {
    return alive && !draining && !address.empty() && slots > 0 && busy_cores <= busy_max * cores &&
           (link_bytes_s <= 0 || network_bytes_s <= busy_max * link_bytes_s);
  }
  // The paper's binary table (Section VI-B): accepts a job that starts at once.
  [[nodiscard]] bool takes_jobs(double busy_max) const { return reachable(busy_max) && jobs < slots; }
};

}  // namespace eco
