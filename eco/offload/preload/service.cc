// libeco-service.so: what libeco-preload.so loads into a program whose RocksDB fits, and what a program may load
// itself.
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "eco.h"
#include "loadable.h"
#include "settings_file.h"

namespace {

std::shared_ptr<eco::CompactionService> attach(rocksdb::DBOptions& options, eco::Settings settings,
                                               const std::vector<std::string>& families) {
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
                                            const std::vector<std::string>& column_families) {
  return [service = attach(options, settings_of(settings), column_families)] { return service->statistics(); };
}

// True: the options have eco's service. False: they are as they were; why was said. A program that has a service of its
// own keeps it. DB::Open may call itself by another form.
extern "C" __attribute__((visibility("default"))) bool eco_preload_attach(rocksdb::DBOptions* options,
                                                                          const std::vector<std::string>* families) {
  if (options->compaction_service) return false;
  try {
    const char* file = std::getenv("ECO_CONFIG");
    attach(*options, eco::read_settings(file == nullptr ? "" : file), *families);
    return true;
  } catch (const std::exception& error) {
    std::cerr << "eco: " << error.what() << ": nothing is offloaded\n";
    return false;
  }
}
