// Where a compaction runs: the policy decides by the server table, and the models learn from what has ended.
#pragma once

#include "state.h"

namespace eco::sim {

class Placement {
 public:
  explicit Placement(State& state) : state_(state) {}

  // Asks the policy for a place, and waits for the job from now on if that is elsewhere.
  void decide_place(std::size_t id);
  // By the table, where it was placed.
  void predict(Job& job) const;
  // A job took this long at a server.
  void learn(Node& node, CompactionModel& model, const Job& job, double took_s, double work);

 private:
  [[nodiscard]] Request request_of(const Node& node, const Job& job) const;
  void place(std::size_t id, const Decision& decision);

  State& state_;
};

}  // namespace eco::sim
