// Runs work in a forked child, so that a crash affects only the child. The child ends with its parent.
//
// The parent must have only one thread when it forks. The signals of interruption.h end the child unless the work
// changes that.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string>

namespace edgejoule::driver {

class ChildProcess {
 public:
  // `work` reports an error by throwing, and success by returning.
  explicit ChildProcess(const std::function<void()>& work);

  // Kills the child if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits until the child has ended; kills it after `limit`. Returns an error message, empty on success. Throws
  // Interrupted, with the child still running, if the user interrupts.
  [[nodiscard]] std::string wait(std::chrono::milliseconds limit);

  // As wait(), but ignores interruptions.
  [[nodiscard]] std::string wait_through(std::chrono::milliseconds limit);

  // True while the child runs.
  [[nodiscard]] bool alive() const;

 private:
  [[nodiscard]] std::string wait(std::chrono::milliseconds limit, const std::function<void()>& meanwhile);
  [[nodiscard]] std::string ended();
  [[nodiscard]] std::string said();

  pid_t process_ = -1;
  int messages_ = -1;
};

// The user's interruption, as an exception.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

// Throws Interrupted if a signal of interruption.h was received.
void stop_when_interrupted();

}  // namespace edgejoule::driver
