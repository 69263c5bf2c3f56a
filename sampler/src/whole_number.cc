#include "whole_number.h"

#include <charconv>

namespace edgejoule::sampler {

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace edgejoule::sampler
