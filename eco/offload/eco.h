// Compactions of level 0 at other servers. Two lines:
//
//   rocksdb::Options options = ...;
//   eco::attach(options, {.placer = std::make_shared<eco::FixedPlacer>("10.0.0.2:7070"), .tls = {...}});
//
// Whatever happens to a worker or the network, RocksDB compacts the job itself.
#pragma once

#include <rocksdb/options.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "credentials.h"
#include "placer.h"

namespace eco {

struct Settings {
  std::shared_ptr<Placer> placer{};
  TlsFiles tls{};            // without it only workers on loopback are used
  double heartbeat_s = 3;    // a worker that is silent for so long is given up
  double standstill_s = 10;  // so is one that reads and writes nothing for so long
  double job_s_max = 600;    // and one that has no result after so long
  // Besides the default one: those whose tables lie in the database's own folder (no cf_paths).
  std::vector<std::string> column_families{};
};

struct Statistics {
  std::uint64_t asked = 0;      // jobs of level 0 that RocksDB offered
  std::uint64_t kept = 0;       // of them, compacted here from the start
  std::uint64_t installed = 0;  // compacted elsewhere and accepted
  std::uint64_t fell_back = 0;  // begun elsewhere and given up
  std::uint64_t bytes_moved = 0;
  std::uint64_t orphans_removed = 0;  // files of jobs that failed
  double wasted_s = 0;                // in jobs that fell back
  double home_cpu_s = 0;              // spent here on jobs elsewhere, by the threads that serve and verify
  std::string last_reason;            // of the last that was kept or fell back
};

// Shared by as many databases as are opened with it.
class CompactionService {
 public:
  virtual ~CompactionService() = default;
  [[nodiscard]] virtual Statistics statistics() const = 0;
  // False: every job is kept from now on, and those elsewhere are given up.
  virtual void offload(bool on) = 0;
};

// Sets the options' compaction_service and adds a listener. Throws std::runtime_error: TLS files cannot be read.
std::shared_ptr<CompactionService> attach(rocksdb::DBOptions& options, const Settings& settings);

}  // namespace eco
