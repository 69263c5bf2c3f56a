// Carries events from the database's threads to the thread that writes them.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

class EventQueue {
 public:
  void push(const DatabaseEvent& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }

  // Returns all queued events and empties the queue.
  [[nodiscard]] std::vector<DatabaseEvent> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<DatabaseEvent> events_;
};

}  // namespace edgejoule::driver
