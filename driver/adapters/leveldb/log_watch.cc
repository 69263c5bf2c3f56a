#include "log_watch.h"

#include <array>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "system/system.h"

namespace edgejoule::driver {
namespace {

using Kind = DatabaseEvent::Kind;

constexpr std::size_t line_bytes_max = 512;
constexpr std::int64_t not_said = -1;

// The number after `mark`, as in "Level-0 table #5: 2100 bytes OK".
std::int64_t number_after(std::string_view text, std::string_view mark) {
  const std::size_t found = text.find(mark);
  if (found == std::string_view::npos) return not_said;
  const std::string_view rest = text.substr(found + mark.size());
  std::int64_t number = not_said;
  std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return number;
}

std::string one_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

LogWatch::LogWatch(std::unique_ptr<leveldb::Logger> file, EventSink sink, std::function<std::uint64_t()> read_bytes)
    : file_(std::move(file)),
      sink_(std::move(sink)),
      read_bytes_(std::move(read_bytes)),
      flushes_(counted_component("flush", false)),
      compactions_(counted_component("compaction", static_cast<bool>(read_bytes_))) {}

void LogWatch::Logv(const char* format, std::va_list arguments) {
  std::array<char, line_bytes_max> text{};
  std::va_list copy;
  va_copy(copy, arguments);
  std::vsnprintf(text.data(), text.size(), format, copy);
  va_end(copy);
  line(text.data(), now_monotonic_ns());
  if (file_) file_->Logv(format, arguments);
}

std::string LogWatch::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::vector<Component> LogWatch::components() {
  const std::lock_guard lock(mutex_);
  return {flushes_, compactions_};
}

void LogWatch::line(std::string_view text, std::uint64_t monotonic_ns) {
  const std::lock_guard lock(mutex_);
  if (text.starts_with("Level-0 table #")) {
    if (text.find(": started") != std::string_view::npos) {
      flush_ = Begun{monotonic_ns, 0};
    } else {
      if (!one_line(text).ends_with(" OK")) failure_ = one_line(text);
      ended(Kind::flush, flush_, text, number_after(text, ": "), monotonic_ns);
    }
  } else if (text.starts_with("Compacting ")) {
    compaction_ = Begun{monotonic_ns, read_bytes()};
  } else if (text.starts_with("Compacted ")) {
    ended(Kind::compaction, compaction_, text, number_after(text, "=> "), monotonic_ns);
  } else if (text.starts_with("Compaction error")) {
    failure_ = one_line(text);
    ended(Kind::compaction, compaction_, text, not_said, monotonic_ns);
  } else if (text.starts_with("Moved #")) {
    emit({Kind::compaction, monotonic_ns, not_said, not_said, not_said, one_line(text)});
  } else if (text.find("; waiting...") != std::string_view::npos) {
    emit({Kind::stall, monotonic_ns, not_said, not_said, not_said, one_line(text)});
  }
}

void LogWatch::ended(Kind kind, std::optional<Begun>& begun, std::string_view text, std::int64_t write_bytes,
                     std::uint64_t monotonic_ns) {
  if (!begun) {
    emit({kind, monotonic_ns, not_said, not_said, write_bytes, one_line(text)});
    return;
  }
  const auto duration_ns = static_cast<std::int64_t>(monotonic_ns - begun->monotonic_ns);
  const bool read_known = kind == Kind::compaction && read_bytes_;
  const std::int64_t read = read_known ? static_cast<std::int64_t>(read_bytes() - begun->read_bytes) : not_said;
  emit({kind, begun->monotonic_ns, duration_ns, read, write_bytes, one_line(text)});
  begun.reset();
}

void LogWatch::emit(const DatabaseEvent& event) {
  if (event.kind == Kind::flush) add(event, flushes_);
  if (event.kind == Kind::compaction) add(event, compactions_);
  if (sink_) sink_(event);
}

}  // namespace edgejoule::driver
