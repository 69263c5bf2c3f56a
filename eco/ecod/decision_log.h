// The last decisions and what became of them. Any number of threads.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "eco.pb.h"

namespace eco {

class DecisionLog {
 public:
  explicit DecisionLog(std::size_t kept = 1000) : kept_(kept) {}

  void add(proto::LoggedDecision decision);
  // Of the decision on its job, if that is still kept.
  void report(const proto::JobReport& report);
  // Newest last.
  [[nodiscard]] std::vector<proto::LoggedDecision> last(std::size_t count) const;

 private:
  std::size_t kept_;
  mutable std::mutex mutex_;
  std::deque<proto::LoggedDecision> decisions_;
};

}  // namespace eco
