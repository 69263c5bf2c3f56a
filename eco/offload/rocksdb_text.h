// Parses RocksDB's text format for options, job inputs and job results: "name=value;name={...};", lists as "a:b" or
// "{a}:{b}", binary strings as hexadecimal digits.
#pragma once

#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eco::rocksdb_text {

using Fields = std::map<std::string, std::string, std::less<>>;

// Returns nothing if the text is malformed or a name occurs twice. Values keep their braces.
[[nodiscard]] std::optional<Fields> fields(std::string_view text);
[[nodiscard]] std::string_view without_braces(std::string_view text);
[[nodiscard]] std::optional<std::vector<std::string>> list(std::string_view text);
[[nodiscard]] std::optional<std::string> bytes(std::string_view hexadecimal);
[[nodiscard]] std::optional<bool> boolean(std::string_view text);

template <typename T>
[[nodiscard]] std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace eco::rocksdb_text
