// The events for which the supervisor waits: signals, the end of its parent, a closed reader, phase marks, the end of
// its input.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgejoule::supervisor {

// The beginning of a phase, announced by the command.
struct Mark {
  std::int64_t arrived_ns;
  std::string name;
};

// The descriptors to watch; -1: none.
struct Watched {
  int report = -1;
  int marks = -1;
  int input = -1;
};

class Wakeups {
 public:
  // Blocks SIGCHLD and the signals that stop the supervisor, sets all others to their default (SIGPIPE: ignored), and
  // watches the parent. Throws std::system_error.
  Wakeups();
  ~Wakeups();
  Wakeups(const Wakeups&) = delete;
  Wakeups& operator=(const Wakeups&) = delete;

  void watch(const Watched& watched) { watched_ = watched; }

  // Returns when an event has occurred, or after `timeout_ns` (nullopt: no limit).
  void wait(std::optional<std::int64_t> timeout_ns);

  // Why the supervisor must stop: a signal's name or a sentence. nullopt: it need not stop.
  [[nodiscard]] const std::optional<std::string>& stop() const { return stop_; }
  // The signal that requested the stop, 0 for another reason.
  [[nodiscard]] int stop_signal() const { return stop_signal_; }
  [[nodiscard]] bool input_ended() const { return input_ended_; }
  [[nodiscard]] std::vector<Mark> take_marks();

 private:
  void read_signals();
  void read_marks(std::int64_t arrived_ns);
  void read_input();
  void ask_to_stop(std::string reason, int signal);

  Watched watched_;
  int signals_ = -1;
  int parent_ = -1;
  std::optional<std::string> stop_;
  int stop_signal_ = 0;
  bool input_ended_ = false;
  std::string mark_text_;  // text after the last newline
  std::vector<Mark> marks_;
};

}  // namespace edgejoule::supervisor
