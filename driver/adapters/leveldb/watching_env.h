// LevelDB's seam to the system, watched: whether there is background work, and what goes through the files.
//
// LevelDB decides at the end of each piece of background work, and before it counts as done, whether there is more to
// do; a count of zero therefore means that LevelDB itself sees nothing left.
#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace edgejoule::driver {

// What LevelDB has asked of the files since the Env was made.
struct LevelDbIo {
  std::atomic<std::uint64_t> log_write_bytes = 0;
  std::atomic<std::uint64_t> log_syncs = 0;
  std::atomic<std::uint64_t> background_read_bytes = 0;  // of tables, by background work: stored blocks
};

class WatchingEnv : public leveldb::EnvWrapper {
 public:
  WatchingEnv() : leveldb::EnvWrapper(leveldb::Env::Default()) {}

  void Schedule(void (*function)(void* arg), void* arg) override;
  leveldb::Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;

  [[nodiscard]] const LevelDbIo& io() const { return io_; }

  void wait_until_idle();

  // False when work is still queued or running at the deadline.
  [[nodiscard]] bool wait_until_idle(std::chrono::steady_clock::time_point deadline);

 private:
  struct Work {
    WatchingEnv* env;
    void (*function)(void*);
    void* arg;
  };

  static void run(void* work);
  void finished();

  std::mutex mutex_;
  std::condition_variable idle_;
  std::uint64_t outstanding_ = 0;
  LevelDbIo io_;
};

}  // namespace edgejoule::driver
