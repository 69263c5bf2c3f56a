#include "rocksdb_text.h"

namespace eco::rocksdb_text {
namespace {

// Position of the next `separator` outside braces, or the end; nothing: unbalanced braces.
std::optional<std::size_t> find_outside(std::string_view text, char separator, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (depth == 0 && text[i] == separator) return i;
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth < 0) return std::nullopt;
  }
  if (depth != 0) return std::nullopt;
  return text.size();
}

// Whether one pair of braces encloses the whole text; false for "{a}:{b}".
bool in_braces(std::string_view text) {
  return text.size() >= 2 && text.front() == '{' && text.back() == '}' &&
         find_outside(text.substr(1, text.size() - 2), '\0', 0);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view without_braces(std::string_view text) {
  while (in_braces(text)) text = text.substr(1, text.size() - 2);
  return text;
}

std::optional<Fields> fields(std::string_view text) {
  Fields result;
  text = without_braces(text);
  for (std::size_t at = 0; at < text.size();) {
    const auto end = find_outside(text, ';', at);
    if (!end) return std::nullopt;
    const auto field = trimmed(text.substr(at, *end - at));
    at = *end + 1;
    if (field.empty()) continue;
    const auto equals = field.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    const auto value = trimmed(field.substr(equals + 1));
    if (!result.emplace(trimmed(field.substr(0, equals)), value).second) return std::nullopt;
  }
  return result;
}

std::optional<std::vector<std::string>> list(std::string_view text) {
  // Removes braces around the whole list, but not those of a single element, "{a=1;b=2;}".
  for (auto inside = text; in_braces(text); text = inside) {
    inside = text.substr(1, text.size() - 2);
    if (inside.find('=') != std::string_view::npos && !inside.starts_with('{')) break;
  }
  std::vector<std::string> result;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = find_outside(text, ':', at);
    if (!end) return std::nullopt;
    result.emplace_back(without_braces(text.substr(at, *end - at)));
    at = *end + 1;
  }
  return result;
}

std::optional<std::string> bytes(std::string_view hexadecimal) {
  if (hexadecimal.size() % 2 != 0) return std::nullopt;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  std::string result;
  result.reserve(hexadecimal.size() / 2);
  for (std::size_t i = 0; i < hexadecimal.size(); i += 2) {
    const int high = digit(hexadecimal[i]), low = digit(hexadecimal[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    result.push_back(static_cast<char>(high * 16 + low));
  }
  return result;
}

std::optional<bool> boolean(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

}  // namespace eco::rocksdb_text
