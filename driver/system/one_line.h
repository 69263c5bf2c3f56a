// Text that others wrote, in a message of one line: what would move the cursor is shown as an escape.
#pragma once

#include <string>
#include <string_view>

namespace edgejoule::driver {

// Control characters as \n, \t or \x1b; all else, UTF-8 included, unchanged.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace edgejoule::driver
