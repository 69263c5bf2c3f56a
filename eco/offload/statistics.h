// Counters of a service since it was attached.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace eco {

struct Statistics {
  std::uint64_t asked = 0;                       // level 0 jobs that RocksDB offered
  std::uint64_t kept = 0;                        // stayed local from the start
  std::uint64_t installed = 0;                   // results of workers that RocksDB accepted
  std::uint64_t fell_back = 0;                   // started at a worker and given up
  std::uint64_t bytes_moved = 0;                 // of tables, over streams
  std::uint64_t bytes_shared = 0;                // of tables, through a shared folder
  std::uint64_t orphans_removed = 0;             // files of failed jobs
  double wasted_s = 0;                           // duration of jobs that fell back
  std::uint64_t wasted_bytes = 0;                // moved for jobs that fell back
  double wasted_cpu_s = 0;                       // their CPU time at workers, as last reported
  double home_cpu_s = 0;                         // of the local threads that serve and verify offloaded jobs
  std::map<std::string, std::uint64_t> kept_by;  // local jobs by reason, without those that the placer kept
  std::string last_reason;                       // of the last job that was kept or fell back
};

}  // namespace eco
