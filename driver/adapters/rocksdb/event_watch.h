// Converts RocksDB's listener calls into database events: flushes, compactions and write stalls with times and bytes.
#pragma once

#include <rocksdb/listener.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "adapters/key_value/component_totals.h"

namespace edgejoule::driver {

class EventWatch : public rocksdb::EventListener {
 public:
  explicit EventWatch(EventSink sink) : sink_(std::move(sink)) {}

  void OnFlushBegin(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override;
  void OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override;
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override;
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override;
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;
  void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) override;

  // Flushes and compactions that are running.
  [[nodiscard]] std::uint64_t running() const;

  // Flushes and compactions begun since the database was opened.
  [[nodiscard]] std::uint64_t begun() const;

  // Flushes and compactions so far.
  [[nodiscard]] std::vector<Component> components() const;

  // RocksDB's message for the last background error. Empty if there was none or RocksDB has recovered.
  [[nodiscard]] std::string failure() const;

  // Reports a stall still in progress, with unknown duration.
  void close();

 private:
  struct Job {
    std::uint64_t begin_monotonic_ns;
    std::int64_t write_bytes;  // -1: unknown
  };

  struct Stall {
    std::uint64_t begin_monotonic_ns;
    std::string condition;
  };

  [[nodiscard]] Job take(std::map<int, Job>& jobs, int job_id);
  void emit(const DatabaseEvent& event);

  const EventSink sink_;
  mutable std::mutex mutex_;
  std::map<int, Job> flushes_;  // by RocksDB's job id
  std::map<int, Job> compactions_;
  std::uint64_t begun_ = 0;
  std::optional<Stall> stall_;
  std::string failure_;
  Component flush_totals_ = counted_component("flush", false);
  Component compaction_totals_ = counted_component("compaction", true);
};

}  // namespace edgejoule::driver
