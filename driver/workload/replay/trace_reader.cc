#include "trace_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

constexpr std::size_t buffer_bytes = 256 * 1024;  // also the longest line
constexpr std::uint64_t ns_per_s = 1'000'000'000;
constexpr std::uint64_t seconds_max = 10'000'000'000;  // fits into 64 bits as ns; any time since 1970 is below it
constexpr std::uint64_t size_max = 1U << 30U;

bool is_number(std::string_view text, std::uint64_t& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size();
}

// The part of a line that fits into a message.
std::string shown(std::string_view text) {
  std::string part{text.substr(0, 60)};
  std::ranges::replace_if(
      part, [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, '?');
  return part;
}

int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Removes and returns the text up to the next comma, or all of it.
std::string_view cut(std::string_view& text) {
  const auto comma = std::min(text.find(','), text.size());
  const auto part = text.substr(0, comma);
  text.remove_prefix(std::min(comma + 1, text.size()));
  return part;
}

}  // namespace

TraceReader::TraceReader(std::string path) : path_(std::move(path)), buffer_(buffer_bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) {
    throw UsageError(fmt::format("trace {}: is a directory; expected a file", path_));
  }
  file_.reset(gzopen(path_.c_str(), "rb"));
  if (!file_) throw UsageError(fmt::format("trace {}: cannot be read: {}", path_, std::strerror(errno)));
  std::string_view header;
  if (!next_text(header) || header != trace_header) {
    line_ = 1;
    refuse(fmt::format("\"{}\"; expected the header {}", shown(header), trace_header));
  }
}

void TraceReader::refuse(const std::string& why) const {
  throw UsageError(fmt::format("trace {}:{}: {}", path_, line_, why));
}

void TraceReader::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const int got = gzread(file_.get(), buffer_.data() + end_, static_cast<unsigned>(buffer_.size() - end_));
  int code = Z_OK;
  const char* message = gzerror(file_.get(), &code);
  if (got < 0 || code == Z_BUF_ERROR) {
    ++line_;
    refuse(fmt::format("cannot be read: {}", code == Z_ERRNO ? std::strerror(errno) : message));
  }
  end_ += static_cast<std::size_t>(got);
  ended_ = got == 0;
}

// Returns false at the end of the file.
bool TraceReader::next_text(std::string_view& text) {
  const char* newline = nullptr;
  while ((newline = static_cast<const char*>(std::memchr(buffer_.data() + begin_, '\n', end_ - begin_))) == nullptr) {
    if (ended_) break;
    if (end_ - begin_ == buffer_.size()) {
      ++line_;
      refuse(fmt::format("longer than {} bytes", buffer_.size()));
    }
    fill();
  }
  if (newline == nullptr && begin_ == end_) return false;
  const char* const begin = buffer_.data() + begin_;
  const char* const end = newline == nullptr ? buffer_.data() + end_ : newline;
  begin_ = newline == nullptr ? end_ : begin_ + static_cast<std::size_t>(end - begin) + 1;
  text = {begin, static_cast<std::size_t>(end - begin)};
  if (text.ends_with('\r')) text.remove_suffix(1);
  ++line_;
  return true;
}

const TraceLine* TraceReader::next() {
  std::string_view text;
  if (!next_text(text)) return nullptr;
  if (std::ranges::count(text, ',') != 3) refuse(fmt::format("\"{}\"; expected {}", shown(text), trace_header));
  const auto earlier_ns = current_.time_ns;
  current_.time_ns = time_ns(cut(text));
  if (lines() > 1 && current_.time_ns < earlier_ns)
    refuse("earlier than the line before it; expected increasing times");
  current_.operation = operation(cut(text));
  current_.key = key(cut(text));
  current_.size = size(text);
  return &current_;
}

std::uint64_t TraceReader::time_ns(std::string_view text) const {
  const auto point = std::min(text.find('.'), text.size());
  auto fraction = text.substr(std::min(point + 1, text.size()));
  std::uint64_t seconds = 0;
  std::uint64_t part = 0;
  const bool digits = std::ranges::all_of(fraction, [](char c) { return c >= '0' && c <= '9'; });
  fraction = fraction.substr(0, 9);
  if (!digits || !is_number(text.substr(0, point), seconds) || (!fraction.empty() && !is_number(fraction, part)) ||
      seconds > seconds_max) {
    refuse(fmt::format("time_s \"{}\"; expected seconds, 0 to {}, as digits with or without a point", shown(text),
                       seconds_max));
  }
  for (auto length = fraction.size(); length < 9; ++length) part *= 10;
  return seconds * ns_per_s + part;
}

TraceOperation TraceReader::operation(std::string_view text) const {
  const auto found = std::ranges::find(trace_operation_names, text);
  if (found == trace_operation_names.end()) {
    refuse(fmt::format("op \"{}\"; expected one of: {}", shown(text), fmt::join(trace_operation_names, ", ")));
  }
  return static_cast<TraceOperation>(found - trace_operation_names.begin());
}

std::string_view TraceReader::key(std::string_view text) {
  if (text.empty()) refuse("no key; expected one");
  if (text.find('%') == std::string_view::npos) return text;
  decoded_.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded_ += text[i];
      continue;
    }
    if (i + 2 >= text.size() || hexadecimal(text[i + 1]) < 0 || hexadecimal(text[i + 2]) < 0) {
      refuse(
          fmt::format("key \"{}\"; expected two hexadecimal digits after %, which itself is written %25", shown(text)));
    }
    decoded_ += static_cast<char>(hexadecimal(text[i + 1]) * 16 + hexadecimal(text[i + 2]));
    i += 2;
  }
  return decoded_;
}

std::optional<std::uint64_t> TraceReader::size(std::string_view text) const {
  const bool optional = current_.operation == TraceOperation::read || current_.operation == TraceOperation::remove;
  if (text.empty() && optional) return std::nullopt;
  std::uint64_t number = 0;
  if (!is_number(text, number) || number > size_max) {
    refuse(fmt::format("size \"{}\" of {}; expected a number from 0 to {}", shown(text),
                       trace_operation_names[static_cast<std::size_t>(current_.operation)], size_max));
  }
  return number;
}

}  // namespace edgejoule::driver
