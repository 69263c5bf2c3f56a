// libeco-preload.so: offloads the level 0 compactions of an unmodified program that opens a RocksDB database.
//
//   LD_PRELOAD=.../libeco-preload.so ECO_CONFIG=eco.toml db_bench ...
//
// This part is loaded into every such program, so it needs no RocksDB itself. It stands before DB::Open and lets
// libeco-service.so, from its own folder, set the options where the program's RocksDB is of the release that eco was
// built for. Otherwise it says so in one line, and the program runs as without it.
#include <dlfcn.h>
#include <fcntl.h>
#include <rocksdb/db.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "compat.h"

namespace {

using eco::Opened;

#if ECO_ROCKSDB_GE(9, 11)
#define ECO_OPENED "St10unique_ptrIS0_St14default_deleteIS0_EE"
#else
#define ECO_OPENED "PS0_"
#endif

constexpr const char* open_name =
    "_ZN7rocksdb2DB4OpenERKNS_7OptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEP" ECO_OPENED;
constexpr const char* open_families_name =
    "_ZN7rocksdb2DB4OpenERKNS_9DBOptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt6vectorINS_"
    "22ColumnFamilyDescriptorESaISD_EEPSC_IPNS_18ColumnFamilyHandleESaISJ_EEP" ECO_OPENED;
constexpr const char* release_name = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";

void say(const std::string& what) { std::fprintf(stderr, "eco: %s\n", what.c_str()); }

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Not what eco says of itself in its text: "7.8." of "7.8.3".
bool same_minor(const std::string& runtime) {
  const std::string built = std::to_string(ROCKSDB_MAJOR) + '.' + std::to_string(ROCKSDB_MINOR) + '.';
  return runtime.compare(0, built.size(), built) == 0;
}

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0) return ".";
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

using Attach = bool (*)(rocksdb::DBOptions*, const std::vector<std::string>*);

// Nothing: the program passes through; why was said.
Attach load() {
  const char* config = std::getenv("ECO_CONFIG");
  if (config == nullptr) {
    say("ECO_CONFIG names no configuration: nothing is offloaded");
    return nullptr;
  }
  const auto release = next<std::string (*)(bool)>(release_name);
  const std::string runtime = release != nullptr ? release(true) : "of an unknown release";
  if (!same_minor(runtime)) {
    say("the program's RocksDB is " + runtime + ", eco was built for " + std::to_string(ROCKSDB_MAJOR) + '.' +
        std::to_string(ROCKSDB_MINOR) + ": nothing is offloaded");
    return nullptr;
  }
  const std::string path = own_folder() + "/libeco-service.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    say(std::string(dlerror()) + ": nothing is offloaded");
    return nullptr;
  }
  return reinterpret_cast<Attach>(dlsym(library, "eco_preload_attach"));
}

Attach attach() {
  static const Attach function = load();
  return function;
}

// A program that has RocksDB within itself never comes by here: it is told at its start.
bool contains_rocksdb(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat status {};
  bool found = false;
  if (fstat(fd, &status) == 0 && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* file = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file != MAP_FAILED) {
      const char mark[] = "rocksdb.block.based.table.index.type";
      found = memmem(file, bytes, mark, sizeof mark - 1) != nullptr;
      munmap(file, bytes);
    }
  }
  close(fd);
  return found;
}

__attribute__((constructor)) void look_at_program() {
  if (std::getenv("ECO_CONFIG") == nullptr || dlsym(RTLD_DEFAULT, release_name) != nullptr) return;
  if (contains_rocksdb("/proc/self/exe")) say("the program has RocksDB linked statically: nothing is offloaded");
}

}  // namespace

namespace rocksdb {

Status DB::Open(const Options& options, const std::string& name, Opened* db) {
  const auto open = next<Status (*)(const Options&, const std::string&, Opened*)>(open_name);
  const Attach set = attach();
  if (set == nullptr) return open(options, name, db);
  Options own(options);
  const std::vector<std::string> families;
  if (!set(&own, &families)) return open(options, name, db);
  return open(own, name, db);
}

Status DB::Open(const DBOptions& options, const std::string& name, const std::vector<ColumnFamilyDescriptor>& families,
                std::vector<ColumnFamilyHandle*>* handles, Opened* db) {
  const auto open = next<Status (*)(const DBOptions&, const std::string&, const std::vector<ColumnFamilyDescriptor>&,
                                    std::vector<ColumnFamilyHandle*>*, Opened*)>(open_families_name);
  const Attach set = attach();
  if (set == nullptr) return open(options, name, families, handles, db);
  std::vector<std::string> names;
  for (const auto& family : families)
    if (family.options.cf_paths.empty()) names.push_back(family.name);
  DBOptions own(options);
  if (!set(&own, &names)) return open(options, name, families, handles, db);
  return open(own, name, families, handles, db);
}

}  // namespace rocksdb
