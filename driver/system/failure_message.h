// A message for exceptions whose own message is not enough.
#pragma once

#include <exception>
#include <string>

namespace edgejoule::driver {

[[nodiscard]] std::string failure_message(const std::exception& error);

}  // namespace edgejoule::driver
