// The links between the servers. Transfers in one direction of a link share it equally.
#pragma once

#include "state.h"

namespace eco::sim {

class Links {
 public:
  explicit Links(State& state) : state_(state) {}

  // Adds a job's transfer of inputs to the worker or outputs back. share() sets its rate.
  std::size_t add(std::size_t id, bool back, double rate_max);
  // Advances a transfer to the current time.
  void advance(Flow& flow);
  // Recomputes the rates on the links of two servers and schedules the ends of their transfers.
  void share(std::size_t a, std::size_t b);
  // Ends a transfer, complete or not.
  void end(std::size_t id);
  // Share of its bytes that has arrived; 0 without a transfer.
  [[nodiscard]] double arrived_part(std::size_t flow) const;

 private:
  State& state_;
};

}  // namespace eco::sim
