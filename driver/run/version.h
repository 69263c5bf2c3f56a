// The driver's version, taken from the project's.
#pragma once

#include <string_view>

namespace edgejoule::driver {

inline constexpr std::string_view version = EDGEJOULE_VERSION;

}  // namespace edgejoule::driver
