#include "file_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

namespace edgejoule::driver {
namespace {

struct Ledger {
  std::mutex mutex;
  std::map<std::string, FileCalls> files;
};

// Never destroyed: threads of the libraries may outlive everything else.
Ledger& ledger() {
  static auto* const all = new Ledger;
  return *all;
}

thread_local std::vector<std::string> synced_files;

std::string name_of(int file) {
  std::error_code failure;
  const auto name = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file), failure);
  return failure ? "" : name.string();
}

// The file that is mapped at an address; empty for none.
std::string name_mapped_at(const void* address) {
  const auto sought = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) != 2 || sought < begin || sought >= end) continue;
    const auto name = line.find('/');
    return name == std::string::npos ? "" : line.substr(name);
  }
  return "";
}

void note(const std::string& name, std::uint64_t write_bytes, bool synced) {
  if (!name.starts_with('/')) return;  // a terminal, a pipe
  if (synced) synced_files.push_back(name);
  const std::lock_guard lock(ledger().mutex);
  FileCalls& calls = ledger().files[name];
  calls.write_bytes += write_bytes;
  calls.syncs += synced ? 1 : 0;
}

ssize_t noted_write(int file, ssize_t written) {
  const int error = errno;
  if (written > 0)
    note(name_of(file), static_cast<std::uint64_t>(written), (fcntl(file, F_GETFL) & (O_SYNC | O_DSYNC)) != 0);
  errno = error;
  return written;
}

int noted_sync(int file, int result) {
  const int error = errno;
  if (result == 0) note(name_of(file), 0, true);
  errno = error;
  return result;
}

int noted_map_sync(const void* address, int flags, int result) {
  const int error = errno;
  if (result == 0 && (flags & MS_SYNC) != 0) note(name_mapped_at(address), 0, true);
  errno = error;
  return result;
}

}  // namespace

std::uint64_t syncs_by_this_thread(const std::filesystem::path& directory) {
  const std::string prefix = directory.string() + "/";
  std::uint64_t syncs = 0;
  for (const std::string& file : synced_files) syncs += file.starts_with(prefix) ? 1 : 0;
  return syncs;
}

FileCalls file_calls(const std::filesystem::path& directory, const std::function<bool(std::string_view name)>& which) {
  const std::string prefix = directory.string() + "/";
  FileCalls sum;
  const std::lock_guard lock(ledger().mutex);
  for (const auto& [name, calls] : ledger().files) {
    if (!name.starts_with(prefix) || !which(std::string_view(name).substr(prefix.size()))) continue;
    sum.write_bytes += calls.write_bytes;
    sum.syncs += calls.syncs;
  }
  return sum;
}

}  // namespace edgejoule::driver

namespace {

// The C library's own.
template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

using edgejoule::driver::noted_map_sync;
using edgejoule::driver::noted_sync;
using edgejoule::driver::noted_write;

extern "C" {

int fsync(int file) { return noted_sync(file, real<int(int)>("fsync")(file)); }

int fdatasync(int file) { return noted_sync(file, real<int(int)>("fdatasync")(file)); }

int msync(void* address, size_t bytes, int flags) {
  return noted_map_sync(address, flags, real<int(void*, size_t, int)>("msync")(address, bytes, flags));
}

ssize_t write(int file, const void* bytes, size_t count) {
  return noted_write(file, real<ssize_t(int, const void*, size_t)>("write")(file, bytes, count));
}

ssize_t writev(int file, const iovec* parts, int count) {
  return noted_write(file, real<ssize_t(int, const iovec*, int)>("writev")(file, parts, count));
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  return noted_write(file, real<ssize_t(int, const void*, size_t, off_t)>("pwrite")(file, bytes, count, offset));
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
  return noted_write(file, real<ssize_t(int, const void*, size_t, off64_t)>("pwrite64")(file, bytes, count, offset));
}

}  // extern "C"
