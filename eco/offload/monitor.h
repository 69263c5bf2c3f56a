// The Monitor (Section VI-B): observes an application's databases through RocksDB's events. Thread-safe.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compaction_model.h"
#include "input_rate.h"
#include "stall.h"

namespace eco {

// A running compaction.
struct Begun {
  rocksdb::DB* db = nullptr;
  std::string column_family;
  int level = 0, output_level = 0;
  Job features;
  std::optional<std::uint64_t> input_records;  // without range deletions; nothing: a table lacks its count
  bool countable = false;        // only puts and deletions: every input entry is output, or dropped and counted
  bool range_deletions = false;  // the input has some
  LevelZero level_zero;          // the service fills in the triggers
  std::shared_ptr<rocksdb::FileSystem> files;
  std::shared_ptr<rocksdb::Logger> log;
  std::uint64_t latest_sequence = 0;
  std::shared_ptr<const rocksdb::Options> default_options;  // of the database and its default column family
  std::string unsuited;  // why no job of this database can be offloaded; empty: no reason
};

// Returns a reason if a path is not the database's own folder; else empty.
[[nodiscard]] std::string tables_elsewhere(const std::vector<rocksdb::DbPath>& paths, const std::string& database);

class Monitor {
 public:
  void on_flush(rocksdb::DB& db, const rocksdb::FlushJobInfo& info);
  void on_begin(rocksdb::DB& db, const rocksdb::CompactionJobInfo& info);
  void on_end(rocksdb::DB& db, const rocksdb::CompactionJobInfo& info);

  [[nodiscard]] std::optional<Begun> begun(const std::string& database, int job) const;

 private:
  // In thousandths of a level 0 file.
  struct Input {
    InputRate rate;
    std::uint64_t flushed = 0;
  };
  using Family = std::pair<std::string, std::string>;  // database, column family

  [[nodiscard]] LevelZero level_zero(rocksdb::DB& db, const std::string& column_family);
  void observe(rocksdb::DB& db, const std::string& column_family, std::uint64_t flushes, double memtable);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, Begun> begun_;
  std::map<Family, Input> inputs_;
};

// RocksDB's name of a compression in its options, such as "Snappy".
[[nodiscard]] std::string codec_name(rocksdb::CompressionType type);

}  // namespace eco
