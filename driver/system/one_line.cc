#include "one_line.h"

#include <fmt/format.h>

namespace edgejoule::driver {

std::string one_line(std::string_view text) {
  constexpr unsigned char first_printable = 0x20;
  constexpr unsigned char del = 0x7F;
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (code < first_printable || code == del) {
      line += fmt::format("\\x{:02x}", code);
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace edgejoule::driver
