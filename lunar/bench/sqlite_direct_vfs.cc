#include "sqlite_direct_vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace lunar_bench {
namespace {

constexpr sqlite3_int64 sector_bytes = 512, page_bytes_max = 65536;
alignas(4096) thread_local char bounce[page_bytes_max];  // SQLite's own memory is not aligned

// What lies behind the default VFS's file: its methods work on the whole as on their own.
struct Direct {
  const sqlite3_io_methods* inner;
  sqlite3_io_methods methods;
  int descriptor;
};

sqlite3_vfs* inner_vfs(const sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

const char* const name = "direct";

Direct& direct_of(sqlite3_file* file) {
  static const int behind = inner_vfs(sqlite3_vfs_find(name))->szOsFile;
  return *reinterpret_cast<Direct*>(reinterpret_cast<char*>(file) + behind);
}

// The sectors around the bytes wanted: SQLite asks for pages, and for the file's first 16 and 100 bytes.
int read(sqlite3_file* file, void* data, int bytes, sqlite3_int64 at) {
  const auto before = at % sector_bytes;
  const auto span = (before + bytes + sector_bytes - 1) / sector_bytes * sector_bytes;
  if (span > page_bytes_max) return SQLITE_IOERR_READ;
  const auto got = pread(direct_of(file).descriptor, bounce, static_cast<std::size_t>(span), at - before);
  if (got < 0) return SQLITE_IOERR_READ;
  const auto there = static_cast<std::size_t>(std::clamp<sqlite3_int64>(got - before, 0, bytes));
  std::memcpy(data, bounce + before, there);
  if (there == static_cast<std::size_t>(bytes)) return SQLITE_OK;
  std::memset(static_cast<char*>(data) + there, 0, static_cast<std::size_t>(bytes) - there);
  return SQLITE_IOERR_SHORT_READ;
}

// Whole pages: SQLite writes nothing else to a database.
int write(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 at) {
  if (at % sector_bytes != 0 || bytes % sector_bytes != 0 || bytes > page_bytes_max) return SQLITE_IOERR_WRITE;
  std::memcpy(bounce, data, static_cast<std::size_t>(bytes));
  if (pwrite(direct_of(file).descriptor, bounce, static_cast<std::size_t>(bytes), at) == bytes) return SQLITE_OK;
  return errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

// The inner one first: a process that closes any descriptor of a file loses its locks on it.
int close(sqlite3_file* file) {
  const Direct& direct = direct_of(file);
  const int code = direct.inner->xClose(file);
  return ::close(direct.descriptor) == 0 ? code : SQLITE_IOERR_CLOSE;
}

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  const int code = inner_vfs(vfs)->xOpen(inner_vfs(vfs), path, file, flags, flags_out);
  if (code != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return code;
  const int access = (flags & SQLITE_OPEN_READONLY) != 0 ? O_RDONLY : O_RDWR;
  const int descriptor = ::open(path, access | O_DIRECT | O_CLOEXEC);
  if (descriptor < 0) {
    (void)file->pMethods->xClose(file);
    file->pMethods = nullptr;
    return SQLITE_CANTOPEN;
  }
  Direct& direct = direct_of(file);
  direct = {file->pMethods, *file->pMethods, descriptor};
  direct.methods.iVersion = std::min(direct.methods.iVersion, 2);  // 3 has xFetch: mmap
  direct.methods.xRead = read, direct.methods.xWrite = write, direct.methods.xClose = close;
  file->pMethods = &direct.methods;
  return SQLITE_OK;
}

}  // namespace

const char* sqlite_direct_vfs() {
  static sqlite3_vfs vfs;
  if (vfs.zName != nullptr) return name;
  sqlite3_vfs* inner = sqlite3_vfs_find(nullptr);
  vfs = *inner;
  vfs.pAppData = inner, vfs.zName = name, vfs.xOpen = open;
  vfs.szOsFile += static_cast<int>(sizeof(Direct));
  sqlite3_vfs_register(&vfs, 0);
  return name;
}

}  // namespace lunar_bench
