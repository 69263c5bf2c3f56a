// The processes that the supervisor is the ancestor of: waits for them, ends them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "usage.h"
#include "wakeups.h"

namespace edgejoule::supervisor {

// How the command's own process ended.
struct Exit {
  std::int64_t end_ns;
  std::optional<std::int64_t> code;  // one of the two
  std::optional<std::int64_t> signal;
};

// As a child subreaper the supervisor becomes the parent of every descendant whose own parent ends. Therefore it has no
// child left exactly when it has no descendant left.
class Children {
 public:
  // Throws std::system_error.
  explicit Children(Wakeups& wakeups);

  // From now on usage and exit are those of `command`, a child.
  void begin(pid_t command);

  // Waits for all children that have ended. What a child uses after the command's exit is not counted.
  void reap();

  // Ends all descendants: SIGTERM, after a second SIGKILL. Returns how many still ran. Throws std::runtime_error that
  // names those that cannot be ended (another user's, or waiting for a device).
  int end_all();

  [[nodiscard]] const std::optional<Exit>& exit() const { return exit_; }
  // Until the command's exit: of the children that ended before, and of the descendants that still ran then.
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
