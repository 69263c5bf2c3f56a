// RocksDB's info log (LOG), releases 7.8 to 9.x: events are JSON behind EVENT_LOG_v1, stalls are lines of words, and
// the time that writers waited is in the statistics that are dumped now and then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace eco {

struct LoggedCompaction {
  double begin_s = 0, end_s = 0;  // of the log's clock
  std::string column_family, codec, reason;
  bool from_level_zero = false;
  double level_zero_files = 0;  // when it began
  std::uint64_t input_bytes = 0, input_entries = 0, output_bytes = 0;
  double compute_s = 0, cpu_s = 0;  // by RocksDB's own clocks
};

enum class StallCause : std::uint8_t { level_zero, memtables, pending_bytes };

// Writes were stopped or delayed from one change of a column family's files to the next.
struct LoggedStall {
  double begin_s = 0, end_s = 0;
  StallCause cause = StallCause::level_zero;
  bool stopped = false;  // else delayed
  std::string column_family;
};

struct LoggedFlush {
  double end_s = 0;
  std::string column_family;
};

struct RocksdbLog {
  std::string release;  // empty: the log does not say
  double begin_s = 0, end_s = 0;
  double slowdown_files = 0, stop_files = 0;  // level 0's triggers, of the first column family; 0: not said
  std::vector<LoggedCompaction> compactions;  // that ended, in that order
  std::vector<LoggedStall> stalls;
  std::vector<LoggedFlush> flushes;
  std::optional<double> waited_s;  // by the last dump: what writers have waited since the database was opened
  double waited_until_s = 0;       // when that dump was written
  std::uint64_t events = 0, bad_events = 0;
};

// Throws std::runtime_error: it cannot be read, or is no such log.
[[nodiscard]] RocksdbLog read_rocksdb_log(const std::string& file);
[[nodiscard]] RocksdbLog parse_rocksdb_log(std::istream& in, const std::string& name);

}  // namespace eco
