// Checkpoints of the WAL, done as SQLite does them by itself, timed, and their input and output counted.
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

  // Takes the place of SQLite's automatic checkpoint on the connection: after a commit that leaves at least
  // autocheckpoint_pages in the WAL, a PASSIVE checkpoint. The connection must not outlive this object.
  void watch(sqlite3* connection);

  // One checkpoint now. Returns SQLite's result code.
  [[nodiscard]] int checkpoint(sqlite3* connection, const char* schema, int mode);

  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t duration_ns() const { return duration_ns_.load(std::memory_order_relaxed); }
  [[nodiscard]] const SqliteIo& io() const { return io_; }  // of those that found another in the way, too
  // Times another connection was checkpointing or in the way.
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
