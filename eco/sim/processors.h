// The servers' processors. Everything that runs on a server shares its cores equally, and energy is power by busy
// cores. Rates are constant between events.
#pragma once

#include <optional>

#include "state.h"

namespace eco::sim {

class Processors {
 public:
  explicit Processors(State& state) : state_(state) {}

  // Advances a server to the current time: its tasks, its application and their energy.
  void advance(Node& node);
  // Recomputes the shares of the cores and schedules the next end.
  void allocate(std::size_t i);
  void start(Node& node, Task::Kind kind, std::size_t job, double work, double pace = 1);

  // Removes the next finished task from a position on; nothing: no more. Call until it returns nothing.
  [[nodiscard]] static std::optional<Task> take_done(Node& node, std::size_t& from);
  // Aborts a server's tasks for a job.
  static void drop(Node& node, std::size_t job);

 private:
  void work(Node& node, double passed);
  void operate(Node& node, double passed);
  [[nodiscard]] static double cost_of_operation(const Node& node);
  [[nodiscard]] double offered(const Node& node) const;

  State& state_;
};

}  // namespace eco::sim
