#include "background_work.h"

#include <memory>

namespace edgejoule::driver {

void BackgroundWorkEnv::Schedule(void (*function)(void* arg), void* arg) {
  {
    const std::lock_guard lock(mutex_);
    ++outstanding_;
  }
  // The thread of LevelDB's Env takes the work over as a plain pointer.
  target()->Schedule(&BackgroundWorkEnv::run, std::make_unique<Work>(Work{this, function, arg}).release());
}

void BackgroundWorkEnv::run(void* work) {
  const std::unique_ptr<Work> own(static_cast<Work*>(work));
  own->function(own->arg);
  own->env->finished();
}

void BackgroundWorkEnv::finished() {
  const std::lock_guard lock(mutex_);
  --outstanding_;
  // Under the lock: a waiter that is woken may destroy this Env at once.
  if (outstanding_ == 0) idle_.notify_all();
}

void BackgroundWorkEnv::wait_until_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return outstanding_ == 0; });
}

bool BackgroundWorkEnv::wait_until_idle(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, deadline, [this] { return outstanding_ == 0; });
}

}  // namespace edgejoule::driver
