#include "page_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "run_failure.h"
#include "system.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

constexpr const char* drop_file = "/proc/sys/vm/drop_caches";
constexpr std::string_view pages_and_names = "3";      // pages, and cached directories and inodes
constexpr std::uint64_t window_bytes = 256ULL << 20U;  // mapped at a time: a 32-bit process has little address space
constexpr int attempts = 5;
constexpr std::chrono::milliseconds pause_between{100};  // for pages that were being written to storage

[[noreturn]] void fail(const std::string& what) {
  throw RunFailure(RunFailure::Kind::system, fmt::format("{}: {}", what, std::strerror(errno)));
}

class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (descriptor_ < 0) fail(fmt::format("cannot open {}", path.string()));
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

// A part of a file, mapped but never read, so that the check itself loads no page.
class Window {
 public:
  Window(int file, std::uint64_t offset, std::size_t bytes)
      : bytes_(bytes), begin_(::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, static_cast<off_t>(offset))) {
    if (begin_ == MAP_FAILED) fail("cannot map a data file");
  }
  ~Window() { ::munmap(begin_, bytes_); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  [[nodiscard]] std::uint64_t resident_pages(std::size_t page_bytes) const {
    std::vector<unsigned char> pages((bytes_ + page_bytes - 1) / page_bytes);
    if (::mincore(begin_, bytes_, pages.data()) != 0) fail("mincore");
    return static_cast<std::uint64_t>(
        std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1U) != 0; }));
  }

 private:
  const std::size_t bytes_;
  void* const begin_;
};

std::uint64_t resident_bytes_of(const fs::path& path) {
  const auto files = data_files(path);
  if (!files) {
    throw RunFailure(RunFailure::Kind::system,
                     fmt::format("--drop-caches: cannot list the files of {}", path.string()));
  }
  std::uint64_t bytes = 0;
  for (const auto& file : *files) bytes += resident_bytes(file);
  return bytes;
}

// A file system in memory has no other place for its pages.
void refuse_memory(const fs::path& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) fail(fmt::format("cannot inspect the file system of {}", path.string()));
  const auto type = static_cast<std::uint32_t>(status.f_type);  // the field's type differs between architectures
  if (type != TMPFS_MAGIC && type != RAMFS_MAGIC) return;
  throw RunFailure(RunFailure::Kind::system,
                   fmt::format("--drop-caches: {} lies on a file system in memory (tmpfs), which is never cold; "
                               "put the data on a disk",
                               path.string()));
}

// Maps the pages of this program and its libraries. Mapped pages are not dropped, so a run reads only the database from
// storage. Kernels before 5.14 cannot do this; there the program's pages may be dropped, too.
void keep_program() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    std::array<char, 5> may{};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, may.data()) != 3 || may[0] != 'r') continue;
    if (line.find('/') == std::string::npos) continue;  // not a file
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
  }
}

void drop() {
  keep_program();
  ::sync();  // only clean pages are dropped
  const int file = ::open(drop_file, O_WRONLY | O_CLOEXEC);
  const bool dropped = file >= 0 && ::write(file, pages_and_names.data(), pages_and_names.size()) > 0;
  const int error = errno;
  if (file >= 0) ::close(file);
  if (dropped) return;
  throw RunFailure(
      RunFailure::Kind::system,
      fmt::format("--drop-caches: cannot write to {}: {}; it needs root on a machine (not a container) whose "
                  "caches may be dropped",
                  drop_file, std::strerror(error)));
}

}  // namespace

std::uint64_t resident_bytes(const fs::path& path) {
  const OpenFile file(path, O_RDONLY);
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) fail(fmt::format("cannot inspect {}", path.string()));
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t pages = 0;
  for (std::uint64_t offset = 0; offset < size; offset += window_bytes) {
    const auto bytes = static_cast<std::size_t>(std::min(window_bytes, size - offset));
    pages += Window(file.descriptor(), offset, bytes).resident_pages(page_bytes);
  }
  return pages * page_bytes;
}

std::uint64_t residency_allowed(std::uint64_t bytes) {
  constexpr std::uint64_t least_bytes = 16 * 4096;
  return std::max(bytes / 100, least_bytes);
}

DroppedCaches drop_caches(const fs::path& path) {
  refuse_memory(path);
  DroppedCaches caches{resident_bytes_of(path), 0};
  const auto allowed = residency_allowed(data_bytes(path).value_or(0));
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(pause_between);
    drop();
    caches.resident_bytes_after = resident_bytes_of(path);
    if (caches.resident_bytes_after <= allowed) return caches;
  }
  throw RunFailure(
      RunFailure::Kind::system,
      fmt::format("--drop-caches: {} bytes of {} are still in memory after {} attempts, expected at most {}; "
                  "does another process read or map these files?",
                  caches.resident_bytes_after, path.string(), attempts, allowed));
}

}  // namespace edgejoule::driver
