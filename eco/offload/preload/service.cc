// libeco-service.so: what libeco-preload.so loads into a program whose RocksDB fits, and what a program may load
// itself.
#include <rocksdb/db.h>
#include <rocksdb/version.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "compat.h"
#include "eco.h"
#include "loadable.h"
#include "settings_file.h"

namespace {

std::shared_ptr<eco::CompactionService> attach(rocksdb::DBOptions& options, eco::Settings settings,
                                               const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  settings.column_families.insert(settings.column_families.end(), families.begin(), families.end());
  return eco::attach(options, settings);
}

eco::Settings settings_of(const eco::LoadableSettings& given) {
  if (!given.file.empty()) return eco::read_settings(given.file);
  eco::Settings settings;
  if (given.worker.empty())
    settings.placer = std::make_shared<eco::NodePlacer>(given.node);
  else
    settings.placer = std::make_shared<eco::FixedPlacer>(given.worker);
  return settings;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) eco::LoadedAttach eco_attach;

std::function<eco::Statistics()> eco_attach(rocksdb::DBOptions& options, const eco::LoadableSettings& settings,
                                            const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  return [service = attach(options, settings_of(settings), families)] { return service->statistics(); };
}

namespace {

using Say = void (*)(const char* text);

// DB::Open may call itself by its other form: these options have eco already.
thread_local const rocksdb::CompactionService* attached = nullptr;

// True: the options have eco's service. False: they are as they were. Either is said, once for both forms.
bool attach_preloaded(rocksdb::DBOptions& options, const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                      Say say) {
  if (options.compaction_service) {
    if (options.compaction_service.get() != attached)
      say("not attached: the program has a compaction service of its own");
    return false;
  }
  try {
    const char* file = std::getenv("ECO_CONFIG");
    attach(options, eco::read_settings(file == nullptr ? "" : file), families);
    attached = options.compaction_service.get();
    say(("attached to RocksDB " + rocksdb::GetRocksVersionAsString() + " by " + (file == nullptr ? "" : file)).c_str());
    return true;
  } catch (const std::exception& error) {
    say((std::string("not attached: ") + error.what()).c_str());
    return false;
  }
}

using Open = rocksdb::Status (*)(const rocksdb::Options&, const std::string&, eco::Opened*);
using OpenFamilies = rocksdb::Status (*)(const rocksdb::DBOptions&, const std::string&,
                                         const std::vector<rocksdb::ColumnFamilyDescriptor>&,
                                         std::vector<rocksdb::ColumnFamilyHandle*>*, eco::Opened*);

}  // namespace

// For libeco-preload.so: as DB::Open, which is `open`, with eco attached to a copy of the options.
extern "C" __attribute__((visibility("default"))) rocksdb::Status eco_preload_open(Say say, Open open,
                                                                                   const rocksdb::Options& options,
                                                                                   const std::string& name,
                                                                                   eco::Opened* db) {
  rocksdb::Options own(options);
  return attach_preloaded(own, {}, say) ? open(own, name, db) : open(options, name, db);
}

extern "C" __attribute__((visibility("default"))) rocksdb::Status eco_preload_open_families(
    Say say, OpenFamilies open, const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families, std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    eco::Opened* db) {
  rocksdb::DBOptions own(options);
  return attach_preloaded(own, families, say) ? open(own, name, families, handles, db)
                                              : open(options, name, families, handles, db);
}
