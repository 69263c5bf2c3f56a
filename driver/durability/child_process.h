// Work done in a forked child: what it breaks, it breaks alone, and it ends when its parent does.
//
// The parent has one thread when it forks. The signals of interruption.h end the child unless the work changes
// that.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string>

namespace edgejoule::driver {

class ChildProcess {
 public:
  // The child leaves a message by throwing; returning is success.
  explicit ChildProcess(const std::function<void()>& work);

  // Kills the child when it is still there.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Waits until the child has ended; kills it after `limit`. Returns what went wrong, empty when nothing did. Throws
  // Interrupted, with the child still running, when the user interrupts.
  [[nodiscard]] std::string wait(std::chrono::milliseconds limit);

  // The same, whatever the user does.
  [[nodiscard]] std::string wait_through(std::chrono::milliseconds limit);

  // Whether it is still running.
  [[nodiscard]] bool alive() const;

 private:
  [[nodiscard]] std::string wait(std::chrono::milliseconds limit, const std::function<void()>& meanwhile);
  [[nodiscard]] std::string ended();
  [[nodiscard]] std::string said();

  pid_t process_ = -1;
  int messages_ = -1;
};

// The kind of failure that interruption by the user is.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

// Throws Interrupted when a signal of interruption.h has come.
void stop_when_interrupted();

}  // namespace edgejoule::driver
