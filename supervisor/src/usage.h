// Resources that processes have used.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

namespace edgejoule::supervisor {

// Usage of a process and of the descendants it has waited for. The sum over the supervisor's children is that of the
// whole tree.
struct Usage {
  std::int64_t cpu_user_ns = 0;
  std::int64_t cpu_system_ns = 0;
  std::int64_t rss_peak_bytes = 0;  // of the largest process
  std::int64_t voluntary_switches = 0;
  std::int64_t involuntary_switches = 0;

  void add(const rusage& of_child) {
    cpu_user_ns += nanoseconds(of_child.ru_utime);
    cpu_system_ns += nanoseconds(of_child.ru_stime);
    rss_peak_bytes = std::max<std::int64_t>(rss_peak_bytes, std::int64_t{of_child.ru_maxrss} * 1024);
    voluntary_switches += of_child.ru_nvcsw;
    involuntary_switches += of_child.ru_nivcsw;
  }

  void add(const Usage& other) {
    cpu_user_ns += other.cpu_user_ns;
    cpu_system_ns += other.cpu_system_ns;
    rss_peak_bytes = std::max(rss_peak_bytes, other.rss_peak_bytes);
    voluntary_switches += other.voluntary_switches;
    involuntary_switches += other.involuntary_switches;
  }

 private:
  static std::int64_t nanoseconds(const timeval& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000;
  }
};

}  // namespace edgejoule::supervisor
