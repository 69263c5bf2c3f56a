// Offloads level 0 compactions to other servers. Two lines enable it:
//
//    rocksdb::Options options = ...;
//    eco::attach(options, {.placer = std::make_shared<eco::FixedPlacer>("10.0.0.2:7070"), .tls = {...}});
//
// If the worker or the network fails in any way, RocksDB compacts the job locally.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <memory>
#include <string>
#include <vector>

#include "credentials.h"
#include "placer.h"
#include "statistics.h"

namespace eco {

struct Settings {
  std::shared_ptr<Placer> placer{};
  TlsFiles tls{};            // without files only workers on loopback are used
  double heartbeat_s = 3;    // a job is given up after this silence of its worker, or sooner
  double standstill_s = 10;  // after this time without a byte read or written
  double job_s_max = 600;    // after this time without a result
  // A directory that workers see too, at their own path (NFS). Tables of databases below it are not streamed. Empty:
  // none.
  std::string shared_directory{};
  // Column families besides the default one to offload, with the options that the database is opened with. eco knows
  // the objects (merge operator, collectors, ...) of the default family by itself; other families stay local unless
  // listed.
  std::vector<rocksdb::ColumnFamilyDescriptor> column_families{};
  // Names (Name()) of the application's comparators, merge operators, prefix extractors, compaction filters and their
  // factories, and table properties collectors whose code all workers have. Jobs with any other object that is not
  // RocksDB's own stay local.
  std::vector<std::string> same_code{};
};

// Can serve several databases.
class CompactionService {
 public:
  virtual ~CompactionService() = default;
  [[nodiscard]] virtual Statistics statistics() const = 0;
  // False: all new jobs stay local, and running jobs at workers are given up.
  virtual void offload(bool on) = 0;
};

// Sets the options' compaction_service and adds a listener. Throws std::runtime_error if the TLS files cannot be read.
std::shared_ptr<CompactionService> attach(rocksdb::DBOptions& options, const Settings& settings);

}  // namespace eco
