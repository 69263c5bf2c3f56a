#include "trace.h"

namespace edgejoule::driver {
namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '%' && c != ',' && c != '"';
}

}  // namespace

void append_trace_key(std::string_view key, std::string& out) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : key) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 0xFU];
  }
}

}  // namespace edgejoule::driver
