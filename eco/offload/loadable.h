// Interface of libeco-service.so for a program that loads eco at run time (dlopen, eco_attach) instead of linking it.
// The program's RocksDB must be a shared library of the release that eco was built for.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <functional>
#include <string>
#include <vector>

#include "statistics.h"

namespace eco {

// Exactly one is set.
struct LoadableSettings {
  std::string file{};    // TOML (settings_file.h)
  std::string node{};    // the socket of this server's ecod
  std::string worker{};  // one worker, HOST:PORT
};

// eco_attach does the same as attach() in eco.h. families: see Settings::column_families. The returned function gives
// the current statistics. Throws std::runtime_error.
using LoadedAttach = std::function<Statistics()>(rocksdb::DBOptions& options, const LoadableSettings& settings,
                                                 const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

}  // namespace eco
