// Keeps a device that somebody needs from being overwritten.
#pragma once

#include <string>

#include "lunar.h"

namespace bdtest {

// The reason not to overwrite the path, from the system's information; empty: none.
std::string in_use(const std::string& path);
// Whether the path is a file with a byte that is not zero. A block device is never one: any used card has such bytes.
bool is_nonzero_file(const std::string& path);
inline constexpr const char* lunar_volume = "a lunar volume";
// The name of the device's contents, from its first sectors; empty: nothing recognised.
std::string contents_of(const lunar_config& device);

}  // namespace bdtest
