// Makes an empty volume in an image, which is created if absent, or on a block device.
#pragma once

#include <cstdint>
#include <string>

namespace shell {

struct FormatOptions {
  std::string path;
  std::uint64_t bytes = 0, log_bytes = 0;  // 0: the existing size; the library's default
  std::uint32_t sector_bytes = 512;
  std::uint16_t tables_max = 0;  // 0: the library's default
  bool force = false;
};

// Refuses, unless forced, to overwrite the path's content; never overwrites a device in use. Returns a description of
// the volume. Throws Failure.
std::string format_volume(const FormatOptions& options);

}  // namespace shell
