#include "raw_requests.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "engine.h"

namespace lunar_bench {
namespace {

constexpr std::size_t sector_bytes = 512;

class Device {
 public:
  explicit Device(const std::string& path) : descriptor_(open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC)) {
    if (descriptor_ < 0) throw BenchError(path + ": " + std::strerror(errno));
  }
  ~Device() { close(descriptor_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void read(std::uint64_t sector) { must(pread(descriptor_, bytes_, sector_bytes, at(sector))); }
  void write(std::uint64_t sector) { must(pwrite(descriptor_, bytes_, sector_bytes, at(sector))); }

 private:
  static off_t at(std::uint64_t sector) { return static_cast<off_t>(sector * sector_bytes); }
  static void must(ssize_t bytes) {
    if (bytes != sector_bytes) throw BenchError(std::string("raw requests: ") + std::strerror(errno));
  }
  int descriptor_;
  alignas(4096) char bytes_[sector_bytes];
};

}  // namespace

double raw_requests_s(const RawRequests& requests, const KeyChooser& key, std::mt19937_64& random) {
  Device device(requests.path);
  const std::uint64_t sectors = requests.span_bytes / sector_bytes;
  const auto start = std::chrono::steady_clock::now();
  double reads = 0, writes = 0;
  for (std::int64_t i = 0; i < requests.operations; ++i) {
    const auto chosen = static_cast<std::uint64_t>(key(random));
    std::uint64_t sector = 0;
    reads += requests.reads_per_operation, writes += requests.writes_per_operation;
    for (std::uint64_t n = 0; reads >= 1; --reads, ++n)
      device.read(sector = KeyChooser::scattered(8 * chosen + n) % sectors);
    for (; writes >= 1 && sector != 0; --writes) device.write(sector);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace lunar_bench
