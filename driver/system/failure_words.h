// What to tell of an exception that says little by itself.
#pragma once

#include <exception>
#include <string>

namespace edgejoule::driver {

[[nodiscard]] std::string failure_words(const std::exception& error);

}  // namespace edgejoule::driver
