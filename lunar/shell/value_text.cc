#include "value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "failure.h"

namespace shell {
namespace {

std::string_view bytes_of(const lunar_value& value) {
  return value.bytes == 0 ? std::string_view() : std::string_view(static_cast<const char*>(value.as.data), value.bytes);
}

// The shortest that reads back as the same number; with a point or an exponent, so that it is seen to be a REAL.
std::string real_text(double real) {
  auto text = fmt::format("{}", real);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

// lunar's SQL reads 15 digits exactly, and 17 as the number that they were printed from.
std::string real_literal(double real) {
  const auto text = real_text(real);
  const auto digits = std::ranges::count_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return digits <= 15 && text.find('e') == std::string::npos ? text : fmt::format("{:.16e}", real);
}

std::string blob_text(std::string_view bytes) {
  std::string text = "X'";
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text + "'";
}

void append_escaped(std::string& text, char c, char separator) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\n')
    text += "\\n";
  else if (c == '\r')
    text += "\\r";
  else if (c == '\t')
    text += "\\t";
  else if (byte < 0x20 || byte == 0x7f)
    text += fmt::format("\\x{:02x}", byte);
  else if (c == '\\' || (separator != 0 && c == separator))
    text += '\\', text += c;
  else
    text += c;
}

const char* name_of(lunar_type type) {
  switch (type) {
    case LUNAR_INT8:
      return "an integer from -128 to 127";
    case LUNAR_INT16:
      return "an integer from -32768 to 32767";
    case LUNAR_INT32:
      return "an integer from -2147483648 to 2147483647";
    case LUNAR_INT64:
      return "an integer of 64 bits";
    case LUNAR_REAL:
      return "a number";
    case LUNAR_BOOLEAN:
      return "TRUE or FALSE";
    case LUNAR_BLOB:
      return "a BLOB like X'0aff'";
    case LUNAR_TEXT:
    case LUNAR_NULL:
      break;
  }
  return "TEXT";
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size();
}

bool same_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 32);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool read_blob(std::string& text) {
  if (text.size() < 3 || (text[0] | 32) != 'x' || text[1] != '\'' || text.back() != '\'' || text.size() % 2 == 0)
    return false;
  std::string bytes;
  for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes += static_cast<char>(high * 16 + low);
  }
  text = bytes;
  return true;
}

bool fits(std::int64_t number, lunar_type type) {
  const int bits = type == LUNAR_INT8 ? 8 : type == LUNAR_INT16 ? 16 : type == LUNAR_INT32 ? 32 : 64;
  const auto most = INT64_MAX >> (64 - bits);
  return number <= most && number >= -most - 1;
}

bool read_value(CsvField& field, lunar_type type, lunar_value& value) {
  const auto& text = field.text;
  switch (type) {
    case LUNAR_INT8:
    case LUNAR_INT16:
    case LUNAR_INT32:
    case LUNAR_INT64:
      value.type = LUNAR_INT64;
      return read_number(text, value.as.integer) && fits(value.as.integer, type);
    case LUNAR_REAL:
      value.type = type;
      return read_number(text, value.as.real);
    case LUNAR_BOOLEAN:
      value.type = type;
      value.as.integer = text == "1" || same_word(text, "true");
      return value.as.integer != 0 || text == "0" || same_word(text, "false");
    case LUNAR_BLOB:
      if (!read_blob(field.text)) return false;
      break;
    case LUNAR_TEXT:
    case LUNAR_NULL:
      break;
  }
  value.type = static_cast<std::uint8_t>(type);
  value.bytes = static_cast<std::uint32_t>(text.size());
  value.as.data = text.data();
  return true;
}

}  // namespace

std::string plain_text(const lunar_value& value, char separator) {
  switch (value.type) {
    case LUNAR_NULL:
      return "NULL";
    case LUNAR_REAL:
      return real_text(value.as.real);
    case LUNAR_BOOLEAN:
      return value.as.integer != 0 ? "TRUE" : "FALSE";
    case LUNAR_BLOB:
      return blob_text(bytes_of(value));
    case LUNAR_TEXT:
      break;
    default:
      return fmt::format("{}", value.as.integer);
  }
  std::string text;
  for (const char c : bytes_of(value)) append_escaped(text, c, separator);
  return text;
}

std::string plain_text(std::string_view name) {
  std::string text;
  for (const char c : name) append_escaped(text, c, 0);
  return text;
}

std::string message_text(std::string_view message) {
  std::string text;
  for (const char c : message)
    if (c == '\n' || c == '\\')
      text += c;
    else
      append_escaped(text, c, 0);
  return text;
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_text(const lunar_value& value) {
  if (value.type == LUNAR_NULL || (value.type == LUNAR_REAL && std::isnan(value.as.real))) return "null";
  if (value.type == LUNAR_BOOLEAN) return value.as.integer != 0 ? "true" : "false";
  if (value.type == LUNAR_REAL && std::isinf(value.as.real)) return value.as.real > 0 ? "9.0e+999" : "-9.0e+999";
  if (value.type == LUNAR_TEXT) return json_text(std::string(bytes_of(value)));
  return value.type == LUNAR_BLOB ? json_text(blob_text(bytes_of(value))) : plain_text(value, 0);
}

void append_csv(std::string& line, const lunar_value& value) {
  if (value.type == LUNAR_TEXT)
    append_csv_text(line, bytes_of(value));
  else if (value.type != LUNAR_NULL)
    line += plain_text(value, 0);
}

std::string sql_text(const lunar_value& value) {
  if (value.type == LUNAR_REAL && std::isnan(value.as.real)) return "NULL";
  if (value.type == LUNAR_REAL && std::isinf(value.as.real)) return value.as.real > 0 ? "9.0e+999" : "-9.0e+999";
  if (value.type == LUNAR_REAL) return real_literal(value.as.real);
  if (value.type != LUNAR_TEXT) return plain_text(value, 0);
  std::string text = "'";
  for (const char c : bytes_of(value)) text += c == '\'' ? std::string("''") : std::string(1, c);
  return text + "'";
}

lunar_value value_of(CsvField& field, lunar_type type) {
  lunar_value value{};
  if (field.text.empty() && !field.quoted) return value;
  if (!read_value(field, type, value)) {
    lunar_value shown{};
    shown.type = LUNAR_TEXT, shown.as.data = field.text.data();
    shown.bytes = static_cast<std::uint32_t>(std::min<std::size_t>(field.text.size(), 40));
    throw Failure(fmt::format("\"{}\": expected {}", plain_text(shown, 0), name_of(type)));
  }
  return value;
}

}  // namespace shell
