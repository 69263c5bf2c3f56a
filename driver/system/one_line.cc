#include "one_line.h"

#include <fmt/format.h>

#include <algorithm>

namespace edgejoule::driver {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// Bytes of the printable character of more than one byte with which the text begins; 0: it begins with another byte.
std::size_t multibyte_length(std::string_view text) {
  const auto first = byte_at(text, 0);
  const std::size_t bytes = first >= 0xF0 && first <= 0xF4   ? 4
                            : first >= 0xE0 && first <= 0xEF ? 3
                            : first >= 0xC2 && first <= 0xDF ? 2
                                                             : 0;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  if (bytes == 0 || text.size() < bytes || !std::ranges::all_of(text.substr(1, bytes - 1), continues)) return 0;
  const auto second = byte_at(text, 1);
  const bool is_control = first == 0xC2 && second < 0xA0;
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_beyond = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return is_control || is_overlong || is_beyond ? 0 : bytes;
}

}  // namespace

std::string one_line(std::string_view text) {
  constexpr unsigned char first_printable = 0x20;
  constexpr unsigned char del = 0x7F;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = byte_at(text, i);
    if (const auto bytes = multibyte_length(text.substr(i)); bytes > 0) {
      line += text.substr(i, bytes);
      i += bytes - 1;
    } else if (text[i] == '\n') {
      line += "\\n";
    } else if (text[i] == '\t') {
      line += "\\t";
    } else if (code < first_printable || code >= del) {
      line += fmt::format("\\x{:02x}", code);
    } else {
      line += text[i];
    }
  }
  return line;
}

}  // namespace edgejoule::driver
