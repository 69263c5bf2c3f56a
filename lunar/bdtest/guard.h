// Keeps a device that somebody needs from being overwritten.
#pragma once

#include <string>

#include "lunar.h"

namespace bdtest {

// The reason not to overwrite the path, from the system's information; empty: none.
std::string in_use(const std::string& path);
// The name of the device's contents, from its first sectors; empty: nothing recognised.
std::string contents_of(const lunar_config& device);

}  // namespace bdtest
