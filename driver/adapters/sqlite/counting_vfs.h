// Counts SQLite's system calls in a VFS around the default one.
//
// SQLite does not report the bytes that a checkpoint or the log wrote, nor the number of syncs. Every call is forwarded
// unchanged. A call inside a checkpoint counts for the checkpoint, any other for its kind of file. Access through a
// memory map is not a call and does not count.
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
  // Registers itself under a unique name, around SQLite's current default. Must outlive the connections opened by it.
  CountingVfs();
  ~CountingVfs();
  CountingVfs(const CountingVfs&) = delete;
  CountingVfs& operator=(const CountingVfs&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const SqliteIo& main_file() const { return main_file_; }
  [[nodiscard]] const SqliteIo& log() const { return log_; }      // the WAL or the rollback journal
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

// During its life, this thread's calls on files of any CountingVfs count only for `io`.
class CheckpointIo {
 public:
  explicit CheckpointIo(SqliteIo& io);
  ~CheckpointIo();
  CheckpointIo(const CheckpointIo&) = delete;
  CheckpointIo& operator=(const CheckpointIo&) = delete;
};

}  // namespace edgejoule::driver
