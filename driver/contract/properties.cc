#include "properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

#include "system/check.h"

namespace edgejoule::driver {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

std::string_view without_leading_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view trimmed(std::string_view text) {
  text = without_leading_blanks(text);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// An odd number of backslashes at the end continues the line.
bool continues(std::string_view line) {
  const auto last = line.find_last_not_of('\\');
  const auto backslashes = line.size() - (last == std::string_view::npos ? 0 : last + 1);
  return backslashes % 2 == 1;
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

std::optional<unsigned> four_hex_digits(std::string_view text) {
  unsigned code = 0;
  if (text.size() < 4) return std::nullopt;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (failure != std::errc{} || end != text.data() + 4) return std::nullopt;
  return code;
}

// nullopt: malformed \uXXXX.
std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'u') {
      const auto code = four_hex_digits(text.substr(i + 1));
      if (!code) return std::nullopt;
      append_utf8(out, *code);
      i += 4;
    } else {
      out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c;
    }
  }
  return out;
}

// Position of the first unescaped separator or blank.
std::size_t key_end(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '=' || line[i] == ':' || is_blank(line[i])) {
      return i;
    }
  }
  return line.size();
}

struct Pair {
  std::string key;
  std::string value;
};

// nullopt: not a property.
std::optional<Pair> parse(std::string_view line) {
  const auto end = key_end(line);
  if (end == 0 || end == line.size()) return std::nullopt;
  auto rest = without_leading_blanks(line.substr(end));
  if (!rest.empty() && (rest.front() == '=' || rest.front() == ':')) rest = without_leading_blanks(rest.substr(1));
  const auto key = unescaped(line.substr(0, end));
  const auto value = unescaped(rest);
  if (!key || !value) return std::nullopt;
  return Pair{*key, *value};
}

std::string shown(std::string_view line) {
  std::string text{line.substr(0, 60)};
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  return text;
}

void check_kind(const std::filesystem::path& path) {
  std::error_code absent;
  const auto status = std::filesystem::status(path, absent);
  if (std::filesystem::is_directory(status)) {
    throw UsageError(fmt::format("{}: is a directory; expected a property file", path.string()));
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_fifo(status)) {
    throw UsageError(fmt::format("{}: is a device; expected a property file or a pipe", path.string()));
  }
}

// Reads a property file, without the byte order mark that some editors put at its start.
std::string text_of(const std::filesystem::path& path) {
  constexpr std::size_t bytes_max = 16U << 20U;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  check_kind(path);
  std::ifstream in(path);
  if (!in) throw UsageError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  std::string text;
  std::array<char, 65536> part{};
  while (in.read(part.data(), part.size()) || in.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > bytes_max) {
      throw UsageError(fmt::format("{}: has more than 16 MiB; expected a property file", path.string()));
    }
  }
  if (in.bad()) throw UsageError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  return text;
}

}  // namespace

void Properties::load_file(const std::filesystem::path& path) {
  std::istringstream in(text_of(path));
  std::string physical;
  std::size_t line_number = 0;
  while (std::getline(in, physical)) {
    const auto first_line = ++line_number;
    if (!physical.empty() && physical.back() == '\r') physical.pop_back();
    std::string line{without_leading_blanks(physical)};
    if (line.empty() || line.front() == '#' || line.front() == '!') continue;
    while (continues(line)) {
      line.pop_back();
      if (!std::getline(in, physical)) break;
      ++line_number;
      if (!physical.empty() && physical.back() == '\r') physical.pop_back();
      line += without_leading_blanks(physical);
    }
    const auto pair = parse(line);
    if (!pair) {
      throw UsageError(
          fmt::format("{}:{}: not a property: \"{}\"; expected key=value", path.string(), first_line, shown(line)));
    }
    set(pair->key, pair->value, fmt::format("{}:{}", path.string(), first_line));
  }
}

void Properties::set(const std::string& key, const std::string& value, const std::string& origin) {
  values_[key] = value;
  origins_[key] = origin;
  EJ_CHECK(values_.size() == origins_.size(), values_.size(), origins_.size());
}

bool Properties::has(const std::string& key) const { return values_.contains(key); }

std::string Properties::get(const std::string& key, const std::string& default_value) const {
  const auto found = values_.find(key);
  return found == values_.end() ? default_value : found->second;
}

std::uint64_t Properties::get_u64(const std::string& key, std::uint64_t default_value, std::uint64_t most) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return default_value;
  const auto text = trimmed(found->second);
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = !text.empty() && end == text.data() + text.size();
  if (is_number && failure == std::errc::result_out_of_range) refuse(key, fmt::format("a number up to {}", most));
  if (!is_number || failure != std::errc{}) {
    refuse(key, "a whole number >= 0");
  }
  return number;
}

double Properties::get_double(const std::string& key, double default_value) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return default_value;
  const auto text = trimmed(found->second);
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) {
    refuse(key, "a number");
  }
  return number;
}

bool Properties::get_bool(const std::string& key, bool default_value) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return default_value;
  std::string text{trimmed(found->second)};
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  if (text != "true" && text != "false") refuse(key, "true or false");
  return text == "true";
}

std::string Properties::origin(const std::string& key) const {
  const auto found = origins_.find(key);
  return found == origins_.end() ? std::string{} : found->second;
}

void Properties::refuse(const std::string& key, std::string_view expected) const {
  EJ_CHECK(has(key), key);
  throw UsageError(fmt::format("{}: property {}={}: expected {}", origin(key), key, get(key, ""), expected));
}

}  // namespace edgejoule::driver
