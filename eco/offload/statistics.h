// What a service did since it was attached.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace eco {

struct Statistics {
  std::uint64_t asked = 0;                       // jobs of level 0 that RocksDB offered
  std::uint64_t kept = 0;                        // of them, compacted here from the start
  std::uint64_t installed = 0;                   // compacted elsewhere and accepted
  std::uint64_t fell_back = 0;                   // begun elsewhere and given up
  std::uint64_t bytes_moved = 0;                 // of tables, by streams
  std::uint64_t bytes_shared = 0;                // and by a shared folder
  std::uint64_t orphans_removed = 0;             // files of jobs that failed
  double wasted_s = 0;                           // in jobs that fell back
  std::uint64_t wasted_bytes = 0;                // moved for jobs that fell back
  double wasted_cpu_s = 0;                       // of theirs elsewhere, as last told
  double home_cpu_s = 0;                         // spent here on jobs elsewhere, by the threads that serve and verify
  std::map<std::string, std::uint64_t> kept_by;  // kept ones by the reason, where that is not the placer's
  std::string last_reason;                       // of the last that was kept or fell back
};

}  // namespace eco
