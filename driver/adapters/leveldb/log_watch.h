// Reads LevelDB's own log lines as they are written and reports flushes, compactions and stalls as events.
//
// LevelDB has no listener. Its log says when a memtable flush and a compaction begin and end and how many bytes they
// wrote; it does not say how many bytes were read, which the caller may count, nor when a stalled writer goes on. Lines
// are passed on to the log file unchanged.
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
  // `file` may be null: then the lines go nowhere else. `read_bytes`: what background work has read so far; empty: not
  // known.
  LogWatch(std::unique_ptr<leveldb::Logger> file, EventSink sink, std::function<std::uint64_t()> read_bytes = {});

  void Logv(const char* format, std::va_list arguments) override;

  // The last failed flush or compaction in LevelDB's own words; empty when none failed.
  [[nodiscard]] std::string failure();

  // Flushes and compactions so far.
  [[nodiscard]] std::vector<Component> components();

  // What one line means at a given time; public so that tests can feed lines.
  void line(std::string_view text, std::uint64_t monotonic_ns);

 private:
  struct Begun {
    std::uint64_t monotonic_ns;
    std::uint64_t read_bytes;  // before it
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
