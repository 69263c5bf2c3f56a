// Waits for the descendants of the supervisor and ends them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "usage.h"
#include "wakeups.h"

namespace edgejoule::supervisor {

// How the command's process ended.
struct Exit {
  std::int64_t end_ns;
  std::optional<std::int64_t> code;  // either code or signal is set
  std::optional<std::int64_t> signal;
};

// The supervisor is a child subreaper: it becomes the parent of every descendant whose parent ends. Therefore it has no
// child exactly when it has no descendant.
class Children {
 public:
  // Throws std::system_error.
  explicit Children(Wakeups& wakeups);

  // Sets the child to which usage() and exit() refer.
  void begin(pid_t command);

  // Waits for all children that have ended. Resource use after the command's exit is not counted.
  void reap();

  // Ends all descendants: SIGTERM, and SIGKILL after a second. Returns how many were still running. Throws
  // std::runtime_error with the names of those that cannot be ended (another user's, or waiting for a device).
  int end_all();

  [[nodiscard]] const std::optional<Exit>& exit() const { return exit_; }
  // Resource use until the command's exit, of children that ended before it and of descendants still running at it.
  [[nodiscard]] const Usage& usage() const { return usage_; }
  // At the last reap().
  [[nodiscard]] bool any_left() const { return any_left_; }

 private:
  void count_end(pid_t child, int status, const rusage& used);
  int signal_all(int signal);
  bool wait_for_all(std::int64_t time_ns);

  Wakeups& wakeups_;
  pid_t command_ = -1;
  bool any_left_ = false;
  bool counting_ = false;  // the command has not ended yet
  std::optional<Exit> exit_;
  Usage usage_;
};

}  // namespace edgejoule::supervisor
