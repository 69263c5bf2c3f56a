// Makes text from other programs safe for a message of one line: control characters become escapes.
#pragma once

#include <string>
#include <string_view>

namespace edgejoule::driver {

// Writes control characters, also those of U+0080 to U+009F, as \n, \t or \x1b, and bytes that are no UTF-8 as \xff.
// All other text stays unchanged.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace edgejoule::driver
