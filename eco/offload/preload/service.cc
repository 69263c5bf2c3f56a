// libeco-service.so: what libeco-preload.so loads into a program whose RocksDB fits.
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "eco.h"
#include "settings_file.h"

// True: the options have eco's service. False: they are as they were; why was said. A program that has a service of its
// own keeps it. DB::Open may call itself by another form.
extern "C" __attribute__((visibility("default"))) bool eco_preload_attach(rocksdb::DBOptions* options,
                                                                          const std::vector<std::string>* families) {
  if (options->compaction_service) return false;
  try {
    const char* file = std::getenv("ECO_CONFIG");
    eco::Settings settings = eco::read_settings(file == nullptr ? "" : file);
    settings.column_families.insert(settings.column_families.end(), families->begin(), families->end());
    eco::attach(*options, settings);
    return true;
  } catch (const std::exception& error) {
    std::cerr << "eco: " << error.what() << ": nothing is offloaded\n";
    return false;
  }
}
