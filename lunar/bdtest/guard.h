// Keeps a device that somebody needs from being overwritten.
#pragma once

#include <string>

#include "lunar.h"

namespace bdtest {

// Why the path should not be overwritten, from what the system says of it; empty: no reason.
std::string in_use(const std::string& path);
// The name of what is on the device, from its first sectors; empty: nothing known.
std::string contents_of(const lunar_config& device);

}  // namespace bdtest
