// Counts what SQLite asks of the system, at SQLite's own seam to it: a VFS around the default one.
//
// SQLite says neither how many bytes a checkpoint or its log wrote nor how often it synced. Every call is passed on
// unchanged. A call made inside a checkpoint counts to it, any other to the kind of its file. What goes through a
// memory map is no call.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "contract/adapter.h"

namespace edgejoule::driver {

struct SqliteIo {
  std::atomic<std::uint64_t> reads = 0;
  std::atomic<std::uint64_t> writes = 0;
  std::atomic<std::uint64_t> read_bytes = 0;
  std::atomic<std::uint64_t> write_bytes = 0;
  std::atomic<std::uint64_t> syncs = 0;

  void add(const SqliteIo& other);
  void add_to(IoCounts& sum) const;
};

class CountingVfs {
 public:
  // Registered under a name of its own, around what is SQLite's default then. Outlives the connections opened by it.
  CountingVfs();
  ~CountingVfs();
  CountingVfs(const CountingVfs&) = delete;
  CountingVfs& operator=(const CountingVfs&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const SqliteIo& main_file() const { return main_file_; }
  [[nodiscard]] const SqliteIo& log() const { return log_; }      // the WAL, or the rollback journal
  [[nodiscard]] const SqliteIo& other() const { return other_; }  // temporary files

 private:
  friend struct CountedFile;

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags);
  [[nodiscard]] SqliteIo& of_kind(int open_flags);

  sqlite3_vfs* const system_;
  const std::string name_;
  sqlite3_vfs vfs_{};
  SqliteIo main_file_;
  SqliteIo log_;
  SqliteIo other_;
};

// While it lives, what this thread asks of the files of any CountingVfs counts to `io`, and to nothing else.
class CheckpointIo {
 public:
  explicit CheckpointIo(SqliteIo& io);
  ~CheckpointIo();
  CheckpointIo(const CheckpointIo&) = delete;
  CheckpointIo& operator=(const CheckpointIo&) = delete;
};

}  // namespace edgejoule::driver
