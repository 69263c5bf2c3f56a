#include "counting_vfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>

namespace edgejoule::driver {
namespace {

thread_local SqliteIo* checkpoint = nullptr;

std::string next_name() {
  static std::atomic<int> made = 0;
  return fmt::format("edgejoule-{}", made.fetch_add(1));
}

}  // namespace

// SQLite allocates space for the system's file behind it.
struct CountedFile : sqlite3_file {
  SqliteIo* io;

  static CountedFile& of(sqlite3_file* file) { return *static_cast<CountedFile*>(file); }
  static sqlite3_file* real(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(CountedFile));
  }
  static SqliteIo& counted(sqlite3_file* file) { return checkpoint != nullptr ? *checkpoint : *of(file).io; }

  static sqlite3_vfs* system(sqlite3_vfs* vfs) { return static_cast<CountingVfs*>(vfs->pAppData)->system_; }
};
static_assert(sizeof(CountedFile) % alignof(sqlite3_int64) == 0, "the system's file behind it is aligned");

namespace {

int close_file(sqlite3_file* file) {
  sqlite3_file* const real = CountedFile::real(file);
  return real->pMethods->xClose(real);
}

int read_file(sqlite3_file* file, void* bytes, int count, sqlite3_int64 offset) {
  sqlite3_file* const real = CountedFile::real(file);
  const int code = real->pMethods->xRead(real, bytes, count, offset);
  SqliteIo& io = CountedFile::counted(file);
  io.reads.fetch_add(1, std::memory_order_relaxed);
  if (code == SQLITE_OK) io.read_bytes.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
  return code;
}

int write_file(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
  sqlite3_file* const real = CountedFile::real(file);
  const int code = real->pMethods->xWrite(real, bytes, count, offset);
  SqliteIo& io = CountedFile::counted(file);
  io.writes.fetch_add(1, std::memory_order_relaxed);
  if (code == SQLITE_OK) io.write_bytes.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
  return code;
}

int sync_file(sqlite3_file* file, int flags) {
  sqlite3_file* const real = CountedFile::real(file);
  const int code = real->pMethods->xSync(real, flags);
  if (code == SQLITE_OK) CountedFile::counted(file).syncs.fetch_add(1, std::memory_order_relaxed);
  return code;
}

// Calls `Method` of the system's file with the same arguments.
template <auto Method, typename... Arguments>
auto pass_on(sqlite3_file* file, Arguments... arguments) {
  sqlite3_file* const real = CountedFile::real(file);
  return (real->pMethods->*Method)(real, arguments...);
}

// SQLite uses the version to determine which methods exist.
constexpr sqlite3_io_methods methods_of_version(int version) {
  using M = sqlite3_io_methods;
  return {version,
          close_file,
          read_file,
          write_file,
          pass_on<&M::xTruncate, sqlite3_int64>,
          sync_file,
          pass_on<&M::xFileSize, sqlite3_int64*>,
          pass_on<&M::xLock, int>,
          pass_on<&M::xUnlock, int>,
          pass_on<&M::xCheckReservedLock, int*>,
          pass_on<&M::xFileControl, int, void*>,
          pass_on<&M::xSectorSize>,
          pass_on<&M::xDeviceCharacteristics>,
          pass_on<&M::xShmMap, int, int, int, void volatile**>,
          pass_on<&M::xShmLock, int, int, int>,
          [](sqlite3_file* file) {
            sqlite3_file* const real = CountedFile::real(file);
            real->pMethods->xShmBarrier(real);
          },
          pass_on<&M::xShmUnmap, int>,
          pass_on<&M::xFetch, sqlite3_int64, int, void**>,
          pass_on<&M::xUnfetch, sqlite3_int64, void*>};
}

constexpr int version_max = 3;
constexpr std::array<sqlite3_io_methods, version_max> methods = {methods_of_version(1), methods_of_version(2),
                                                                 methods_of_version(3)};

// Forwards a call that needs no counting to the wrapped VFS, which must be its first argument.
template <auto Method, typename... Arguments>
auto pass_on_vfs(sqlite3_vfs* vfs, Arguments... arguments) {
  sqlite3_vfs* const real = CountedFile::system(vfs);
  return (real->*Method)(real, arguments...);
}

}  // namespace

void SqliteIo::add(const SqliteIo& other) {
  reads += other.reads;
  writes += other.writes;
  read_bytes += other.read_bytes;
  write_bytes += other.write_bytes;
  syncs += other.syncs;
}

void SqliteIo::add_to(IoCounts& sum) const {
  sum.reads += reads;
  sum.writes += writes;
  sum.flushes += syncs;
  sum.read_bytes += read_bytes;
  sum.write_bytes += write_bytes;
}

CountingVfs::CountingVfs() : system_(sqlite3_vfs_find(nullptr)), name_(next_name()) {
  using V = sqlite3_vfs;
  vfs_ = *system_;
  vfs_.iVersion = std::min(system_->iVersion, 2);  // version 3 adds only functions for SQLite's own tests
  vfs_.szOsFile = static_cast<int>(sizeof(CountedFile)) + system_->szOsFile;
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = &CountingVfs::open;
  vfs_.xDelete = pass_on_vfs<&V::xDelete, const char*, int>;
  vfs_.xAccess = pass_on_vfs<&V::xAccess, const char*, int, int*>;
  vfs_.xFullPathname = pass_on_vfs<&V::xFullPathname, const char*, int, char*>;
  vfs_.xDlOpen = pass_on_vfs<&V::xDlOpen, const char*>;
  vfs_.xDlError = pass_on_vfs<&V::xDlError, int, char*>;
  vfs_.xDlClose = pass_on_vfs<&V::xDlClose, void*>;
  vfs_.xRandomness = pass_on_vfs<&V::xRandomness, int, char*>;
  vfs_.xSleep = pass_on_vfs<&V::xSleep, int>;
  vfs_.xCurrentTime = pass_on_vfs<&V::xCurrentTime, double*>;
  vfs_.xGetLastError = pass_on_vfs<&V::xGetLastError, int, char*>;
  vfs_.xCurrentTimeInt64 = pass_on_vfs<&V::xCurrentTimeInt64, sqlite3_int64*>;
  // xDlSym returns a function pointer and is not wrapped. SQLite calls it only for extensions.
  sqlite3_vfs_register(&vfs_, 0);
}

CountingVfs::~CountingVfs() { sqlite3_vfs_unregister(&vfs_); }

SqliteIo& CountingVfs::of_kind(int open_flags) {
  if ((open_flags & SQLITE_OPEN_MAIN_DB) != 0) return main_file_;
  if ((open_flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0) return log_;
  return other_;
}

int CountingVfs::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto& self = *static_cast<CountingVfs*>(vfs->pAppData);
  sqlite3_file* const real = CountedFile::real(file);
  const int code = self.system_->xOpen(self.system_, name, real, flags, out_flags);
  CountedFile::of(file).io = &self.of_kind(flags);
  // SQLite does not close a file without methods.
  file->pMethods = nullptr;
  if (real->pMethods != nullptr) {
    const int version = std::clamp(real->pMethods->iVersion, 1, version_max);
    file->pMethods = &methods[static_cast<std::size_t>(version - 1)];
  }
  return code;
}

CheckpointIo::CheckpointIo(SqliteIo& io) { checkpoint = &io; }
CheckpointIo::~CheckpointIo() { checkpoint = nullptr; }

}  // namespace edgejoule::driver
