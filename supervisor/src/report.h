// Writes JSON lines to a descriptor (format: supervisor/README.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace edgejoule::supervisor {

// `text` as a quoted JSON string. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string quoted(std::string_view text);

// One line of the report.
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

// Buffers lines until flush(), so that the reader does not wake for each repetition of a short command.
class Report {
 public:
  explicit Report(int descriptor) : descriptor_(descriptor) {}
  void write(Line&& line);
  // Flushes if the oldest line is older than a quarter of a second, or if the lines fill a page.
  void flush_if_due();
  void flush();
  // True if the reader has closed the pipe, so that nothing can be reported.
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::string lines_;
  std::int64_t oldest_ns_ = 0;
  bool broken_ = false;
};

}  // namespace edgejoule::supervisor
