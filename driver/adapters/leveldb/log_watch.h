// Reads LevelDB's own log lines as they are written and reports flushes, compactions and stalls as events.
//
// LevelDB has no listener. Its log says when a memtable flush and a compaction begin and end and how many bytes they
// wrote; it does not say how many bytes were read, nor when a stalled writer goes on. Lines are passed on to the log
// file unchanged.
#pragma once

#include <leveldb/env.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "../adapter.h"

namespace edgejoule::driver {

class LogWatch : public leveldb::Logger {
 public:
  // `file` may be null: then the lines go nowhere else.
  LogWatch(std::unique_ptr<leveldb::Logger> file, EventSink sink);

  void Logv(const char* format, std::va_list arguments) override;

  // The last failed flush or compaction in LevelDB's own words; empty when none failed.
  [[nodiscard]] std::string failure();

  // What one line means at a given time; public so that tests can feed lines.
  void line(std::string_view text, std::uint64_t monotonic_ns);

 private:
  struct Begun {
    std::uint64_t monotonic_ns;
    std::string detail;
  };

  void ended(DatabaseEvent::Kind kind, std::optional<Begun>& begun, std::string_view text, std::int64_t write_bytes,
             std::uint64_t monotonic_ns);
  void emit(const DatabaseEvent& event) const;

  const std::unique_ptr<leveldb::Logger> file_;
  const EventSink sink_;
  std::mutex mutex_;
  std::string failure_;
  std::optional<Begun> flush_;
  std::optional<Begun> compaction_;
};

}  // namespace edgejoule::driver
