// Checkpoints of the WAL by SQLite's own rule, with their times and I/O.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cstdint>

#include "contract/adapter.h"
#include "counting_vfs.h"

namespace edgejoule::driver {

class SqliteCheckpoints {
 public:
  SqliteCheckpoints(EventSink sink, int autocheckpoint_pages)
      : sink_(std::move(sink)), autocheckpoint_pages_(autocheckpoint_pages) {}

  // Replaces SQLite's automatic checkpoint on the connection: after a commit that leaves at least autocheckpoint_pages
  // in the WAL, it runs a PASSIVE checkpoint. This object must outlive the connection.
  void watch(sqlite3* connection);

  // Runs a checkpoint now. Returns SQLite's result code.
  [[nodiscard]] int checkpoint(sqlite3* connection, const char* schema, int mode);

  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t duration_ns() const { return duration_ns_.load(std::memory_order_relaxed); }
  [[nodiscard]] const SqliteIo& io() const { return io_; }  // includes checkpoints that were blocked
  // How often another connection was checkpointing or blocked the checkpoint.
  [[nodiscard]] std::uint64_t busy() const { return busy_.load(std::memory_order_relaxed); }

 private:
  static int after_commit(void* self, sqlite3* connection, const char* schema, int wal_pages);

  const EventSink sink_;
  const int autocheckpoint_pages_;
  std::atomic<std::uint64_t> count_ = 0;
  std::atomic<std::uint64_t> duration_ns_ = 0;
  SqliteIo io_;
  std::atomic<std::uint64_t> busy_ = 0;
};

}  // namespace edgejoule::driver
