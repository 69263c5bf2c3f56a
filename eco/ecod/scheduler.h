// Places compactions one at a time on the servers of the table (the paper's Scheduler). Thread-safe.
#pragma once

#include <mutex>
#include <string>

#include "eco.pb.h"
#include "policy.h"
#include "tracker.h"

namespace eco {

struct SchedulerOptions {
  double alive_s = 3.5;
  double placed_s = 5, forget_s = 3600;  // see Tracker
};

// Logs the home, the choice and the cheapest other servers.
void log_options(const Decision& decision, const std::vector<Server>& servers, std::size_t home,
                 proto::LoggedDecision& log);

class Scheduler {
 public:
  explicit Scheduler(SchedulerOptions options) : options_(options), tracker_(options.placed_s, options.forget_s) {}

  // alive_s: greatest age of a candidate's last beat.
  // Fills `decision` except its times. A placement that offloads carries a new token; in shadow mode nothing counts as
  // placed.
  [[nodiscard]] proto::Placement place(const proto::PlaceRequest& request, const Policy& policy, bool shadow,
                                       double now_s, double alive_s, proto::LoggedDecision& decision);
  [[nodiscard]] double alive_s() const { return options_.alive_s; }

  template <typename Change>
  auto with_tracker(Change change) {
    const std::scoped_lock lock(mutex_);
    return change(tracker_);
  }

 private:
  SchedulerOptions options_;
  std::mutex mutex_;
  Tracker tracker_;
};

// 128 random bits in hexadecimal, from a cryptographic source.
[[nodiscard]] std::string new_token();

}  // namespace eco
