// libeco-preload.so offloads the level 0 compactions of an unmodified program that opens a RocksDB database.
//
//   LD_PRELOAD=.../libeco-preload.so ECO_CONFIG=eco.toml db_bench ...
//
// Every program started with it loads this library, including shells and their commands. It therefore needs only the C
// library (its libstdc++ would replace the program's) and includes no RocksDB type (their inline constructors would
// replace the program's). It exports three functions (preload.map):
//
// - DB::Open, both forms: pass the call to libeco-service.so, which attaches eco to a copy of the options, if the
//   program's RocksDB is the shared library that eco was built for.
// - rename: detects a RocksDB whose DB::Open does not come through here (linked into the program or one of its
//   libraries, or opened as a TransactionDB). RocksDB renames OPTIONS-*.dbtmp whenever it opens a database, and the
//   file contains the release.
//
// A process that opens a database prints one line on stderr: attached, or not attached and why. Other processes print
// nothing.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <rocksdb/version.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if ROCKSDB_MAJOR > 9 || (ROCKSDB_MAJOR == 9 && ROCKSDB_MINOR >= 11)
#define ECO_OPENED "St10unique_ptrIS0_St14default_deleteIS0_EE"
#else
#define ECO_OPENED "PS0_"
#endif
#define ECO_OPEN "_ZN7rocksdb2DB4OpenERKNS_7OptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEP" ECO_OPENED
#define ECO_OPEN_FAMILIES                                                                                     \
  "_ZN7rocksdb2DB4OpenERKNS_9DBOptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt6vectorINS_" \
  "22ColumnFamilyDescriptorESaISD_EEPSC_IPNS_18ColumnFamilyHandleESaISJ_EEP" ECO_OPENED
#define ECO_TEXT(number) #number
#define ECO_TEXT_OF(macro) ECO_TEXT(macro)

namespace preload {

// rocksdb::Status, passed on unread: the caller owns its memory, whatever its size.
struct Status {
  ~Status();
};
}  // namespace preload

namespace {

using preload::Status;

// The mismatch test builds this library for a release that does not exist.
#ifndef ECO_BUILT_FOR
#define ECO_BUILT_FOR ECO_TEXT_OF(ROCKSDB_MAJOR) "." ECO_TEXT_OF(ROCKSDB_MINOR)
#endif
constexpr char built_for[] = ECO_BUILT_FOR;
constexpr char release_name[] = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";

// The layout of libstdc++'s std::string. Release texts are short and therefore stored in `local`.
struct Text {
  const char* data;
  std::size_t bytes;
  char local[16];
  ~Text() {}
};
static_assert(offsetof(Text, bytes) == sizeof(void*) && offsetof(Text, local) == 2 * sizeof(void*) &&
              sizeof(Text) == 2 * sizeof(void*) + 16);

using Open = Status (*)(const void* options, const void* name, void* db);
using OpenFamilies = Status (*)(const void* options, const void* name, const void* families, void* handles, void* db);
using Release = Text (*)(bool with_patch);
using Rename = int (*)(const char* from, const char* to);
using Say = void (*)(const char* text);

// The entry point of libeco-service.so.
using AttachAndOpen = Status (*)(Say, Open, const void* options, const void* name, void* db);
using AttachAndOpenFamilies = Status (*)(Say, OpenFamilies, const void* options, const void* name, const void* families,
                                         void* handles, void* db);

pthread_mutex_t said_mutex = PTHREAD_MUTEX_INITIALIZER;
char said[1024];  // the last line printed by this process or the parent that forked it
Rename next_rename;

// Prints one line per distinct outcome: a program may open a hundred databases.
void say(const char* text) {
  pthread_mutex_lock(&said_mutex);
  char line[sizeof said];
  std::snprintf(line, sizeof line, "eco: %s", text);
  const bool repeated = std::strcmp(line, said) == 0;
  std::strcpy(said, line);
  pthread_mutex_unlock(&said_mutex);
  // A daemon may have closed stderr; one of RocksDB's close-on-exec files may then have its number.
  const int flags = fcntl(STDERR_FILENO, F_GETFD);
  if (!repeated && flags >= 0 && (flags & FD_CLOEXEC) == 0) dprintf(STDERR_FILENO, "%s\n", line);
}

__attribute__((format(printf, 1, 2))) void say_not_attached(const char* format, ...) {
  constexpr char begin[] = "not attached: ";
  char text[sizeof said] = "not attached: ";
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text + sizeof begin - 1, sizeof text - sizeof begin, format, arguments);
  va_end(arguments);
  say(text);
}

bool nothing_was_said() {
  pthread_mutex_lock(&said_mutex);
  const bool nothing = said[0] == '\0';
  pthread_mutex_unlock(&said_mutex);
  return nothing;
}

// Compares the minor release only: "7.8." of "7.8.3".
bool is_built_for(const char* release) {
  constexpr std::size_t length = sizeof built_for - 1;
  return std::strncmp(release, built_for, length) == 0 && release[length] == '.';
}

// A loaded library or the program.
class Library {
 public:
  explicit Library(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return;
    path_ = info.dli_fname;
    handle_ = dlopen(path_, RTLD_LAZY | RTLD_NOLOAD);
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] const char* path() const { return path_; }
  // Searches the library and its dependencies; nullptr: absent.
  [[nodiscard]] void* symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

 private:
  const char* path_ = "a library without a name";
  void* handle_ = nullptr;
};

// The function that the call would have reached without this library: for a program the one it is linked to; for a
// library that was loaded later and for its own calls the one that library is linked to.
void* real_open(const char* name, const void* caller) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  const Library library(caller);
  if (void* found = library.symbol(name)) return found;
  std::fprintf(stderr, "eco: %s calls rocksdb::DB::Open, but no library it is linked to defines it\n", library.path());
  std::abort();
}

// Loads libeco-service.so from this library's folder; nullptr: see dlerror().
void* load_service() {
  Dl_info info{};
  char path[4096] = "";
  if (dladdr(reinterpret_cast<void*>(&load_service), &info) != 0) {
    const char* slash = std::strrchr(info.dli_fname, '/');
    const int folder = slash == nullptr ? 0 : static_cast<int>(slash + 1 - info.dli_fname);
    std::snprintf(path, sizeof path, "%.*slibeco-service.so", folder, info.dli_fname);
  }
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// A function of the service; nullptr: the program continues without eco, and the reason was printed.
void* service_function(const char* name, void* open) {
  if (std::getenv("ECO_CONFIG") == nullptr) {
    say_not_attached("ECO_CONFIG names no configuration");
    return nullptr;
  }
  const Library rocksdb(open);
  const auto release = reinterpret_cast<Release>(rocksdb.symbol(release_name));
  if (release == nullptr) {
    say_not_attached("%s has a RocksDB of an unknown release; eco was built for %s", rocksdb.path(), built_for);
    return nullptr;
  }
  const Text text = release(true);
  if (!is_built_for(text.data)) {
    say_not_attached("%s is RocksDB %s; eco was built for %s", rocksdb.path(), text.data, built_for);
    return nullptr;
  }
  // The service loads RocksDB's shared library if the program has none.
  const char* slash = std::strrchr(rocksdb.path(), '/');
  const bool shared = std::strstr(slash == nullptr ? rocksdb.path() : slash, "librocksdb.so") != nullptr;
  void* service = shared ? load_service() : nullptr;
  if (shared && service == nullptr) {
    say_not_attached("%s", dlerror());
    return nullptr;
  }
  if (!shared || dlsym(service, release_name) != reinterpret_cast<void*>(release)) {
    say_not_attached("%s contains RocksDB %s; eco needs the shared library of RocksDB", rocksdb.path(), text.data);
    return nullptr;
  }
  return dlsym(service, name);
}

// Whether `path` is an options file that RocksDB writes when it opens a database. Async-signal-safe.
bool is_new_options_file(const char* path) {
  constexpr char prefix[] = "OPTIONS-", suffix[] = ".dbtmp";
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  const std::size_t length = std::strlen(name);
  return length > sizeof prefix + sizeof suffix && std::strncmp(name, prefix, sizeof prefix - 1) == 0 &&
         std::strcmp(name + length - (sizeof suffix - 1), suffix) == 0;
}

// The release that wrote the file, such as "9.10.0".
void read_release(const char* options_file, char* release, std::size_t size) {
  std::snprintf(release, size, "of an unknown release");
  const int file = open(options_file, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char head[4096];
  const ssize_t bytes = read(file, head, sizeof head - 1);
  close(file);
  if (bytes <= 0) return;
  head[bytes] = '\0';
  constexpr char key[] = "rocksdb_version=";
  const char* found = std::strstr(head, key);
  if (found == nullptr) return;
  found += sizeof key - 1;
  std::snprintf(release, size, "%.*s", static_cast<int>(std::strspn(found, "0123456789.")), found);
}

void say_what_opened(const char* options_file, const void* caller) {
  const Library library(caller);
  char release[32];
  read_release(options_file, release, sizeof release);
  const bool shared = library.symbol(ECO_OPEN) != nullptr;
  if (shared && is_built_for(release))
    say_not_attached("the program does not open its database with DB::Open (a TransactionDB, for example)");
  else if (shared)
    say_not_attached("%s is RocksDB %s; eco was built for %s", library.path(), release, built_for);
  else
    say_not_attached("%s contains RocksDB %s; eco needs the shared library of RocksDB %s", library.path(), release,
                     built_for);
}

__attribute__((constructor)) void find_next_rename() {
  next_rename = reinterpret_cast<Rename>(dlsym(RTLD_NEXT, "rename"));
}

}  // namespace

namespace preload {

// Exported under the mangled names of DB::Open.
Status eco_open(const void* options, const void* name, void* db) __asm__(ECO_OPEN);
Status eco_open_families(const void* options, const void* name, const void* families, void* handles,
                         void* db) __asm__(ECO_OPEN_FAMILIES);

Status eco_open(const void* options, const void* name, void* db) {
  void* open = real_open(ECO_OPEN, __builtin_return_address(0));
  void* attach = service_function("eco_preload_open", open);
  if (attach == nullptr) return reinterpret_cast<Open>(open)(options, name, db);
  return reinterpret_cast<AttachAndOpen>(attach)(say, reinterpret_cast<Open>(open), options, name, db);
}

Status eco_open_families(const void* options, const void* name, const void* families, void* handles, void* db) {
  void* open = real_open(ECO_OPEN_FAMILIES, __builtin_return_address(0));
  void* attach = service_function("eco_preload_open_families", open);
  if (attach == nullptr) return reinterpret_cast<OpenFamilies>(open)(options, name, families, handles, db);
  return reinterpret_cast<AttachAndOpenFamilies>(attach)(say, reinterpret_cast<OpenFamilies>(open), options, name,
                                                         families, handles, db);
}

}  // namespace preload

extern "C" int rename(const char* from, const char* to) noexcept {
  if (is_new_options_file(from) && nothing_was_said()) say_what_opened(from, __builtin_return_address(0));
  return next_rename != nullptr ? next_rename(from, to) : renameat(AT_FDCWD, from, AT_FDCWD, to);
}
