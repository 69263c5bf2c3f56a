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

// The file mapped at an address; empty for none.
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

void add(FileCalls& sum, const FileCalls& calls) {
  sum.reads += calls.reads;
  sum.writes += calls.writes;
  sum.read_bytes += calls.read_bytes;
  sum.write_bytes += calls.write_bytes;
  sum.syncs += calls.syncs;
}

void note(const std::string& name, const FileCalls& call) {
  if (!name.starts_with('/')) return;  // a terminal, a pipe
  if (call.syncs > 0) synced_files.push_back(name);
  const std::lock_guard lock(ledger().mutex);
  add(ledger().files[name], call);
}

ssize_t noted_read(int file, ssize_t read) {
  const int error = errno;
  if (read >= 0) note(name_of(file), {.reads = 1, .read_bytes = static_cast<std::uint64_t>(read)});
  errno = error;
  return read;
}

ssize_t noted_write(int file, ssize_t written) {
  const int error = errno;
  const bool synced = (fcntl(file, F_GETFL) & (O_SYNC | O_DSYNC)) != 0;
  if (written > 0)
    note(name_of(file), {.writes = 1, .write_bytes = static_cast<std::uint64_t>(written), .syncs = synced ? 1U : 0U});
  errno = error;
  return written;
}

int noted_sync(int file, int result) {
  const int error = errno;
  if (result == 0) note(name_of(file), {.syncs = 1});
  errno = error;
  return result;
}

int noted_map_sync(const void* address, int flags, int result) {
  const int error = errno;
  if (result == 0 && (flags & MS_SYNC) != 0) note(name_mapped_at(address), {.syncs = 1});
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
    add(sum, calls);
  }
  return sum;
}

}  // namespace edgejoule::driver

namespace {

// The C library's function.
template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

using edgejoule::driver::noted_map_sync;
using edgejoule::driver::noted_read;
using edgejoule::driver::noted_sync;
using edgejoule::driver::noted_write;

extern "C" {

int fsync(int file) { return noted_sync(file, real<int(int)>("fsync")(file)); }

int fdatasync(int file) { return noted_sync(file, real<int(int)>("fdatasync")(file)); }

int msync(void* address, size_t bytes, int flags) {
  return noted_map_sync(address, flags, real<int(void*, size_t, int)>("msync")(address, bytes, flags));
}

ssize_t pread(int file, void* bytes, size_t count, off_t offset) {
  return noted_read(file, real<ssize_t(int, void*, size_t, off_t)>("pread")(file, bytes, count, offset));
}

ssize_t pread64(int file, void* bytes, size_t count, off64_t offset) {
  return noted_read(file, real<ssize_t(int, void*, size_t, off64_t)>("pread64")(file, bytes, count, offset));
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
