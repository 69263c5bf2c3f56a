// An Env, LevelDB's interface to the system, that counts background work and file I/O.
//
// LevelDB schedules further work before the current work counts as done. A count of zero therefore means that LevelDB
// has nothing left to do.
#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace edgejoule::driver {

// LevelDB's file I/O since the Env was created.
struct LevelDbIo {
  std::atomic<std::uint64_t> log_write_bytes = 0;
  std::atomic<std::uint64_t> log_syncs = 0;
  std::atomic<std::uint64_t> background_read_bytes = 0;  // blocks of tables as stored, read by background work
};

class WatchingEnv : public leveldb::EnvWrapper {
 public:
  WatchingEnv() : leveldb::EnvWrapper(leveldb::Env::Default()) {}

  void Schedule(void (*function)(void* arg), void* arg) override;
  leveldb::Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;

  [[nodiscard]] const LevelDbIo& io() const { return io_; }

  void wait_until_idle();

  // Returns false if work is still queued or running at the deadline.
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
