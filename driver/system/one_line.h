// Makes text from other programs safe for a message of one line: control characters become escapes.
#pragma once

#include <string>
#include <string_view>

namespace edgejoule::driver {

// Writes control characters as \n, \t or \x1b. All other text, including UTF-8, stays unchanged.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace edgejoule::driver
