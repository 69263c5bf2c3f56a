// The processors of the servers: each core serves what runs on a server in equal shares, and energy is watts by busy
// cores. Between events all rates are constant.
#pragma once

#include <optional>

#include "state.h"

namespace eco::sim {

class Processors {
 public:
  explicit Processors(State& state) : state_(state) {}

  // Moves a server on to now: its tasks, its application and their energy.
  void advance(Node& node);
  // Shares the cores anew, and schedules when something ends.
  void allocate(std::size_t i);
  void start(Node& node, Task::Kind kind, std::size_t job, double work, double pace = 1);

  // Takes the next task that is done, from a position on; nothing: there is none. The caller asks until then.
  [[nodiscard]] static std::optional<Task> take_done(Node& node, std::size_t& from);
  // Ends what a server does for a job, unfinished.
  static void drop(Node& node, std::size_t job);

 private:
  void work(Node& node, double passed);
  void operate(Node& node, double passed);
  [[nodiscard]] static double cost_of_operation(const Node& node);
  [[nodiscard]] double offered(const Node& node) const;

  State& state_;
};

}  // namespace eco::sim
