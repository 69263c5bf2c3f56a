// Reads a fuzzer's bytes and reports an error.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace edgejoule::driver {

// Ends the process if `holds` is false, also in a build without assertions.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// A file in memory with the bytes. The next call overwrites it.
inline std::string file_with(std::string_view bytes) {
  static const int file = memfd_create("fuzz", 0);
  require(file >= 0 && ftruncate(file, 0) == 0, "a file in memory can be had");
  require(pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "it takes the bytes");
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace edgejoule::driver
