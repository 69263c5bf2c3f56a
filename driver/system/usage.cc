#include "usage.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace edgejoule::driver {
namespace {

using Number = std::optional<std::uint64_t>;

std::uint64_t nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_usec) * 1000U;
}

// The number after the label in a file with lines of "label number".
Number labelled(const char* file, const std::string& label) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string field;
    std::uint64_t number = 0;
    if (fields >> field && field == label && fields >> number) return number;
  }
  return std::nullopt;
}

Number resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  if (!(in >> total_pages >> resident_pages)) return std::nullopt;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// A sector is 512 bytes in this file, whatever the device's sector size (Documentation/block/stat.rst).
void read_device(Usage& usage, const std::string& device) {
  constexpr std::uint64_t sector_bytes = 512;
  constexpr std::size_t reads = 0, sectors_read = 2, writes = 4, sectors_written = 6, flushes = 15;
  std::ifstream in(fmt::format("/sys/class/block/{}/stat", device));
  const std::vector<std::uint64_t> counters(std::istream_iterator<std::uint64_t>(in), {});
  if (counters.size() <= sectors_written) return;
  usage.device_read_bytes = counters[sectors_read] * sector_bytes;
  usage.device_write_bytes = counters[sectors_written] * sector_bytes;
  usage.device_reads = counters[reads];
  usage.device_writes = counters[writes];
  if (counters.size() > flushes) usage.device_flushes = counters[flushes];
}

std::atomic<std::uint64_t> own_write_bytes{0};

Number difference(const Number& begin, const Number& now) {
  if (!begin || !now || *now < *begin) return std::nullopt;
  return *now - *begin;
}

}  // namespace

void count_own_writes(std::uint64_t bytes) { own_write_bytes.fetch_add(bytes, std::memory_order_relaxed); }

std::optional<std::uint64_t> Usage::cpu_ns() const {
  if (!cpu_user_ns || !cpu_system_ns) return std::nullopt;
  return *cpu_user_ns + *cpu_system_ns;
}

Usage usage_now(const std::optional<std::string>& device) {
  Usage usage;
  rusage self{};
  if (getrusage(RUSAGE_SELF, &self) == 0) {
    usage.cpu_user_ns = nanoseconds(self.ru_utime);
    usage.cpu_system_ns = nanoseconds(self.ru_stime);
    usage.context_switches = static_cast<std::uint64_t>(self.ru_nvcsw + self.ru_nivcsw);
  }
  usage.rss_bytes = resident_bytes();
  usage.process_read_bytes = labelled("/proc/self/io", "read_bytes:");
  // Not write_bytes: there the kernel counts whole folios, tens of kB for a page of 4 kB (docs/adr/005).
  // Read first, so that it never exceeds the total.
  const auto own_bytes = own_write_bytes.load(std::memory_order_relaxed);
  usage.process_write_bytes = difference(own_bytes, labelled("/proc/self/io", "wchar:"));
  usage.device = device;
  if (device) read_device(usage, *device);
  return usage;
}

Usage usage_since(const Usage& begin, const Usage& now) {
  Usage usage = now;
  usage.cpu_user_ns = difference(begin.cpu_user_ns, now.cpu_user_ns);
  usage.cpu_system_ns = difference(begin.cpu_system_ns, now.cpu_system_ns);
  usage.process_read_bytes = difference(begin.process_read_bytes, now.process_read_bytes);
  usage.process_write_bytes = difference(begin.process_write_bytes, now.process_write_bytes);
  usage.device_read_bytes = difference(begin.device_read_bytes, now.device_read_bytes);
  usage.device_write_bytes = difference(begin.device_write_bytes, now.device_write_bytes);
  usage.device_reads = difference(begin.device_reads, now.device_reads);
  usage.device_writes = difference(begin.device_writes, now.device_writes);
  usage.device_flushes = difference(begin.device_flushes, now.device_flushes);
  usage.context_switches = difference(begin.context_switches, now.context_switches);
  return usage;
}

std::uint64_t rss_peak_bytes() {
  constexpr std::uint64_t kibibyte = 1024;
  if (const auto peak = labelled("/proc/self/status", "VmHWM:")) return *peak * kibibyte;
  rusage self{};
  getrusage(RUSAGE_SELF, &self);
  return static_cast<std::uint64_t>(self.ru_maxrss) * kibibyte;
}

std::uint64_t process_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace edgejoule::driver
