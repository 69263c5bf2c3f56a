// Places compactions by the policy and the server table, and lets the models learn from ended ones.
#pragma once

#include "state.h"

namespace eco::sim {

class Placement {
 public:
  explicit Placement(State& state) : state_(state) {}

  // Places a job by the policy. If it is offloaded, starts to wait for it.
  void decide_place(std::size_t id);
  // By the table, at its server.
  void predict(Job& job) const;
  // Learns that a job took this long at a server.
  void learn(Node& node, CompactionModel& model, const Job& job, double took_s, double work);

 private:
  [[nodiscard]] Request request_of(const Node& node, const Job& job) const;
  void place(std::size_t id, const Decision& decision);

  State& state_;
};

}  // namespace eco::sim
