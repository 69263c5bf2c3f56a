// Reads RocksDB's info log (LOG) of releases 7.8 to 9.x. Events are JSON after EVENT_LOG_v1, stalls are plain text, and
// the writers' waiting time is in the periodic statistics dumps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace eco {

struct LoggedCompaction {
  double begin_s = 0, end_s = 0;  // by the log's clock
  std::string column_family, codec, reason;
  bool from_level_zero = false;
  double level_zero_files = 0;  // at its start
  std::uint64_t input_bytes = 0, input_entries = 0, output_bytes = 0;
  double compute_s = 0, cpu_s = 0;  // by RocksDB's own clocks
};

enum class StallCause : std::uint8_t { level_zero, memtables, pending_bytes };

// An interval of stopped or delayed writes, between two changes of a column family's files.
struct LoggedStall {
  double begin_s = 0, end_s = 0;
  StallCause cause = StallCause::level_zero;
  bool stopped = false;  // false: delayed
  std::string column_family;
};

struct LoggedFlush {
  double end_s = 0;
  std::string column_family;
};

struct RocksdbLog {
  std::string release;  // empty: not in the log
  double begin_s = 0, end_s = 0;
  double slowdown_files = 0, stop_files = 0;  // level 0 triggers of the first column family; 0: not in the log
  std::vector<LoggedCompaction> compactions;  // in order of their ends
  std::vector<LoggedStall> stalls;
  std::vector<LoggedFlush> flushes;
  std::optional<double> waited_s;  // writers' waiting time since the database was opened, from the last dump
  double waited_until_s = 0;       // time of that dump
  std::uint64_t events = 0, bad_events = 0;
};

// Throws std::runtime_error if the file is unreadable or no such log.
[[nodiscard]] RocksdbLog read_rocksdb_log(const std::string& file);
[[nodiscard]] RocksdbLog parse_rocksdb_log(std::istream& in, const std::string& name);

}  // namespace eco
