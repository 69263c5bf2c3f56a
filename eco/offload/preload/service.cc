// libeco-service.so: libeco-preload.so loads it into a program with a suitable RocksDB; a program can also load it
// itself.
#include <rocksdb/db.h>
#include <rocksdb/version.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
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
  if (!given.file.empty()) {
    std::vector<std::string> warnings;
    eco::Settings settings = eco::read_settings(given.file, warnings);
    for (const auto& warning : warnings) std::fprintf(stderr, "eco: %s\n", warning.c_str());
    return settings;
  }
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

static_assert(sizeof(std::string) == 2 * sizeof(void*) + 16, "preload.cc reads a string that RocksDB returns");

using Say = void (*)(const char* text);

struct ProcessSettings {
  pid_t process;  // a forked child creates its own, because the connections belong to its parent
  std::string file, text;
  std::vector<std::string> warnings{};
  eco::Settings settings{};
};

// One placer serves all databases that the process opens with the same settings: it holds the connection to ecod and
// knows which worker failed. A changed file is read on the next open. Throws as read_settings does.
const ProcessSettings& settings_of_process(const std::string& file) {
  static std::mutex mutex;
  static ProcessSettings* last = nullptr;  // never destroyed: databases may be open when the process ends
  std::string text;
  if (std::error_code error; std::filesystem::is_regular_file(file, error)) {
    std::ifstream in(file);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::lock_guard lock(mutex);
  if (last == nullptr || last->process != getpid() || last->file != file || last->text != text) {
    auto read = std::make_unique<ProcessSettings>(ProcessSettings{.process = getpid(), .file = file, .text = text});
    read->settings = eco::read_settings(file, read->warnings);
    last = read.release();  // other threads may still use the previous one
  }
  return *last;
}

// DB::Open may call its other form with options that have eco already.
thread_local const rocksdb::CompactionService* attached = nullptr;

// True: eco's service is attached. False: the options are unchanged. Prints the outcome once for both forms.
bool attach_preloaded(rocksdb::DBOptions& options, const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                      Say say) {
  if (options.compaction_service) {
    if (options.compaction_service.get() != attached) say("not attached: the program already has a compaction service");
    return false;
  }
  try {
    const char* file = std::getenv("ECO_CONFIG");
    const ProcessSettings& read = settings_of_process(file == nullptr ? "" : file);
    attach(options, read.settings, families);
    attached = options.compaction_service.get();
    std::string outcome = "attached to RocksDB " + rocksdb::GetRocksVersionAsString() + " by " + read.file;
    for (const auto& warning : read.warnings) outcome += "; " + warning;
    say(outcome.c_str());
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

// Called by libeco-preload.so: calls `open`, the real DB::Open, with eco attached to a copy of the options.
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
