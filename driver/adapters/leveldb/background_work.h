// Knows whether LevelDB has background work queued or running: an Env that counts what LevelDB schedules.
//
// LevelDB decides at the end of each piece of background work, and before it counts as done, whether there is more to
// do; a count of zero therefore means that LevelDB itself sees nothing left.
#pragma once

#include <leveldb/env.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace edgejoule::driver {

class BackgroundWorkEnv : public leveldb::EnvWrapper {
 public:
  BackgroundWorkEnv() : leveldb::EnvWrapper(leveldb::Env::Default()) {}

  void Schedule(void (*function)(void* arg), void* arg) override;

  void wait_until_idle();

  // False when work is still queued or running at the deadline.
  [[nodiscard]] bool wait_until_idle(std::chrono::steady_clock::time_point deadline);

 private:
  struct Work {
    BackgroundWorkEnv* env;
    void (*function)(void*);
    void* arg;
  };

  static void run(void* work);
  void finished();

  std::mutex mutex_;
  std::condition_variable idle_;
  std::uint64_t outstanding_ = 0;
};

}  // namespace edgejoule::driver
