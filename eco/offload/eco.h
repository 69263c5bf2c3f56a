// Compactions of level 0 at other servers. Two lines:
//
//   rocksdb::Options options = ...;
//   eco::attach(options, {.placer = std::make_shared<eco::FixedPlacer>("10.0.0.2:7070"), .tls = {...}});
//
// Whatever happens to a worker or the network, RocksDB compacts the job itself.
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
  TlsFiles tls{};          // without it only workers on loopback are used
  double heartbeat_s = 3;  // a worker that is silent for so long is given up, or for a local compaction if that is less
  double standstill_s = 10;  // so is one that reads and writes nothing for so long
  double job_s_max = 600;    // and one that has no result after so long
  // Databases below it are seen by workers, too, at a path of theirs (NFS): their tables need no streams. Empty: none.
  std::string shared_directory{};
  // Besides the default one: those that are offloaded, with the options that the database is opened with. eco sees only
  // the default one's objects (merge operator, collectors, ...) by itself, and offloads no other whose objects it does
  // not know.
  std::vector<rocksdb::ColumnFamilyDescriptor> column_families{};
  // Consent: all workers have the same code as the application of the comparators, merge operators, prefix extractors,
  // compaction filters, their factories and table properties collectors of these names (Name()). Their jobs are
  // offloaded then; else an object that is not RocksDB's own keeps its jobs local.
  std::vector<std::string> same_code{};
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
