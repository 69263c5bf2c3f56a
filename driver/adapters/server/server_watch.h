// A thread that polls a server.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace edgejoule::driver {

class ServerWatch {
 public:
  // Calls `poll` every period_ms until destruction; 0: never. `poll` must not throw.
  ServerWatch(std::uint64_t period_ms, std::function<void()> poll) {
    if (period_ms == 0) return;
    thread_ = std::jthread([period_ms, poll = std::move(poll)](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any wakened;
      std::unique_lock lock(mutex);
      while (!wakened.wait_for(lock, stop, std::chrono::milliseconds(period_ms), [] { return false; }) &&
             !stop.stop_requested()) {
        poll();
      }
    });
  }

 private:
  std::jthread thread_;
};

}  // namespace edgejoule::driver
