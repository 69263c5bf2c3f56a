#include "process.h"

#include <sys/resource.h>

#include <fstream>
#include <string>

#include "engine.h"

namespace lunar_bench {

Calls calls_of_process() {
  std::ifstream file("/proc/self/io");
  Calls calls;
  int found = 0;
  std::string name;
  for (std::uint64_t value; file >> name >> value;) {
    if (name == "syscr:") calls.reads = value, ++found;
    if (name == "syscw:") calls.writes = value, ++found;
    if (name == "wchar:") calls.bytes_written = value, ++found;
  }
  if (found != 3) throw BenchError("/proc/self/io: cannot be read");
  return calls;
}

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace lunar_bench
