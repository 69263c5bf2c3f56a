// JSON lines on a descriptor (format: supervisor/README.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace edgejoule::supervisor {

// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string quoted(std::string_view text);

// One line.
class Line {
 public:
  explicit Line(std::string_view event);
  Line& add(std::string_view name, std::int64_t value);
  Line& add(std::string_view name, std::optional<std::int64_t> value);
  Line& add(std::string_view name, std::string_view text);
  [[nodiscard]] std::string end() &&;

 private:
  std::string text_;
};

// Keeps lines until flush(), so that the reader does not wake up for each repetition of a short command.
class Report {
 public:
  explicit Report(int descriptor) : descriptor_(descriptor) {}
  void write(Line&& line);
  // When the oldest line is older than a quarter of a second, or the lines fill a page.
  void flush_if_due();
  void flush();
  // The reader is gone: nothing can be reported any more.
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::string lines_;
  std::int64_t oldest_ns_ = 0;
  bool broken_ = false;
};

}  // namespace edgejoule::supervisor
