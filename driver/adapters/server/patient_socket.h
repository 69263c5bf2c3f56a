// A blocking socket whose waits end at the time limit of an operation or at an interruption (system/interruption.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace edgejoule::driver {

class PatientSocket {
  using Clock = std::chrono::steady_clock;

 public:
  // Completes a connection. Returns 0 on success, otherwise an errno value; ETIMEDOUT, ECANCELED: the wait ended. The
  // caller still owns the socket and closes it. The time limit also covers everything sent and received until begin().
  [[nodiscard]] int connect(int socket, std::uint64_t timeout_ms);

  // The time limit of each operation, from the next begin() on.
  void set_timeout(std::uint64_t timeout_ms);

  // Begins an operation: everything sent and received for it must end within the time limit.
  void begin() { deadline_ = Clock::now() + timeout_; }

  // True if the time limit of the current operation has passed. It also catches a server that sends single bytes, so
  // that no single wait times out.
  [[nodiscard]] bool is_over() const { return Clock::now() >= deadline_; }

  // As send and recv, but without SIGPIPE and EINTR. -1 with errno: EAGAIN after the time limit, ECANCELED after an
  // interruption. 0: closed.
  [[nodiscard]] ssize_t send(const char* bytes, std::size_t size) const;
  [[nodiscard]] ssize_t receive(char* bytes, std::size_t size) const;

 private:
  template <typename Move>
  ssize_t patiently(Move move) const;

  int socket_ = -1;
  std::chrono::milliseconds timeout_{0};
  Clock::time_point deadline_;
};

}  // namespace edgejoule::driver
