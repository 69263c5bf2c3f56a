#include "report.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "clock.h"

namespace edgejoule::supervisor {
namespace {

constexpr std::int64_t line_age_ns_max = second_ns / 4;
constexpr std::size_t lines_bytes_max = 4096;

// Length of the well-formed UTF-8 sequence at the beginning of `text` (Unicode 15, table 3-7); 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const auto follows = [&](std::size_t at) { return (byte(at) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool too_large = first == 0xF4 && second > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string& result, char c) {
  if (c == '"' || c == '\\') {
    result += '\\';
    result += c;
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
    result += escape;
  } else {
    result += c;
  }
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 1) {
      append_escaped(result, text.front());
    } else if (length == 0) {
      result += "\\ufffd";
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result + '"';
}

Line::Line(std::string_view event) : text_("{\"event\": " + quoted(event)) {}

Line& Line::add(std::string_view name, std::int64_t value) {
  text_ += ", \"";
  text_ += name;
  text_ += "\": ";
  text_ += std::to_string(value);
  return *this;
}

Line& Line::add(std::string_view name, std::optional<std::int64_t> value) {
  if (value) return add(name, *value);
  text_ += ", \"";
  text_ += name;
  text_ += "\": null";
  return *this;
}

Line& Line::add(std::string_view name, std::string_view text) {
  text_ += ", \"";
  text_ += name;
  text_ += "\": ";
  text_ += quoted(text);
  return *this;
}

std::string Line::end() && { return std::move(text_) + "}\n"; }

void Report::write(Line&& line) {
  if (lines_.empty()) oldest_ns_ = monotonic_ns();
  lines_ += std::move(line).end();
}

void Report::flush_if_due() {
  if (lines_.size() >= lines_bytes_max || (!lines_.empty() && monotonic_ns() - oldest_ns_ >= line_age_ns_max)) flush();
}

void Report::flush() {
  std::string_view rest = lines_;
  while (!rest.empty() && !broken_) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
  lines_.clear();
}

}  // namespace edgejoule::supervisor
