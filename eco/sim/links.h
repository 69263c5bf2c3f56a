// The links between the servers: each is shared equally by what goes over it in one direction.
#pragma once

#include "state.h"

namespace eco::sim {

class Links {
 public:
  explicit Links(State& state) : state_(state) {}

  // Adds a transfer of a job: its inputs to the worker, or its outputs back. share() gives it a rate.
  std::size_t add(std::size_t id, bool back, double rate_max);
  // Moves a transfer on to now.
  void advance(Flow& flow);
  // Shares the links of two servers anew, and schedules the ends of their transfers.
  void share(std::size_t a, std::size_t b);
  // Ends a transfer, whether it is complete or not.
  void end(std::size_t id);
  // The share of its bytes that has arrived; none: 0.
  [[nodiscard]] double arrived_part(std::size_t flow) const;

 private:
  State& state_;
};

}  // namespace eco::sim
