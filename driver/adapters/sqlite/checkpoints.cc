#include "checkpoints.h"

#include <fmt/format.h>

#include "system/system.h"

namespace edgejoule::driver {
namespace {

std::string describe(int mode, int wal_pages, int done_pages, int code) {
  if (code != SQLITE_OK) return fmt::format("failed: {}", sqlite3_errstr(code));
  if (mode == SQLITE_CHECKPOINT_TRUNCATE) return "truncate: the WAL is in the main file";
  return fmt::format("passive: {} of {} pages of the WAL are in the main file", done_pages, wal_pages);
}

}  // namespace

void SqliteCheckpoints::watch(sqlite3* connection) {
  if (autocheckpoint_pages_ == 0) {
    sqlite3_wal_autocheckpoint(connection, 0);
  } else {
    sqlite3_wal_hook(connection, &SqliteCheckpoints::after_commit, this);
  }
}

int SqliteCheckpoints::after_commit(void* self, sqlite3* connection, const char* schema, int wal_pages) {
  auto& checkpoints = *static_cast<SqliteCheckpoints*>(self);
  if (wal_pages >= checkpoints.autocheckpoint_pages_) {
    // As in SQLite's own hook, a failed checkpoint does not fail the commit. A later one retries.
    (void)checkpoints.checkpoint(connection, schema, SQLITE_CHECKPOINT_PASSIVE);
  }
  return SQLITE_OK;
}

int SqliteCheckpoints::checkpoint(sqlite3* connection, const char* schema, int mode) {
  int wal_pages = 0;
  int done_pages = 0;
  SqliteIo io;
  int code = SQLITE_OK;
  const std::uint64_t begin_ns = now_monotonic_ns();
  {
    const CheckpointIo counted(io);
    code = sqlite3_wal_checkpoint_v2(connection, schema, mode, &wal_pages, &done_pages);
  }
  const std::uint64_t duration_ns = now_monotonic_ns() - begin_ns;
  io_.add(io);
  if ((code & 0xff) == SQLITE_BUSY) {
    busy_.fetch_add(1, std::memory_order_relaxed);
    return code;
  }
  const bool has_wal = wal_pages >= 0;
  if (!has_wal) return code;
  count_.fetch_add(1, std::memory_order_relaxed);
  duration_ns_.fetch_add(duration_ns, std::memory_order_relaxed);
  if (sink_) {
    sink_({DatabaseEvent::Kind::checkpoint, begin_ns, static_cast<std::int64_t>(duration_ns),
           static_cast<std::int64_t>(io.read_bytes), static_cast<std::int64_t>(io.write_bytes),
           describe(mode, wal_pages, done_pages, code)});
  }
  return code;
}

}  // namespace edgejoule::driver
