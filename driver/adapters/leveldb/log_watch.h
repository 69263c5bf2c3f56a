// Reports flushes, compactions and stalls as events, by parsing LevelDB's log lines as they are written.
//
// LevelDB has no listener interface. Its log reports the begin and end of memtable flushes and compactions and the
// bytes they wrote. It does not report the bytes read, which the caller may count, nor the end of a writer's stall.
// Lines are also passed to the log file, unchanged.
#pragma once

#include <leveldb/env.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/key_value/component_totals.h"

namespace edgejoule::driver {

class LogWatch : public leveldb::Logger {
 public:
  // `file` may be null: lines are then not written anywhere. `read_bytes` returns the bytes read by background work so
  // far; empty: unknown.
  LogWatch(std::unique_ptr<leveldb::Logger> file, EventSink sink, std::function<std::uint64_t()> read_bytes = {});

  void Logv(const char* format, std::va_list arguments) override;

  // LevelDB's message for the last failed flush or compaction; empty if none failed.
  [[nodiscard]] std::string failure();

  // Flushes and compactions so far.
  [[nodiscard]] std::vector<Component> components();

  // Processes one line that LevelDB wrote at that time. Public for tests.
  void line(std::string_view text, std::uint64_t monotonic_ns);

 private:
  struct Begun {
    std::uint64_t monotonic_ns;
    std::uint64_t read_bytes;  // at its begin
  };

  void ended(DatabaseEvent::Kind kind, std::optional<Begun>& begun, std::string_view text, std::int64_t write_bytes,
             std::uint64_t monotonic_ns);
  void emit(const DatabaseEvent& event);
  [[nodiscard]] std::uint64_t read_bytes() const { return read_bytes_ ? read_bytes_() : 0; }

  const std::unique_ptr<leveldb::Logger> file_;
  const EventSink sink_;
  const std::function<std::uint64_t()> read_bytes_;
  std::mutex mutex_;
  std::string failure_;
  std::optional<Begun> flush_;
  std::optional<Begun> compaction_;
  Component flushes_;
  Component compactions_;
};

}  // namespace edgejoule::driver
