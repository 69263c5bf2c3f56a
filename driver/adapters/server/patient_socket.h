// A blocking socket whose waits have an end: the time limit of an operation, or an interruption
// (system/interruption.h).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace edgejoule::driver {

class PatientSocket {
  using Clock = std::chrono::steady_clock;

 public:
  // A connection under way. Returns 0 when it is made, else what errno names; ETIMEDOUT, ECANCELED: the wait ended.
  // The socket stays its owner's, who closes it. What is sent and received until begin() has the same time limit.
  [[nodiscard]] int connect(int socket, std::uint64_t timeout_ms);

  // Of each operation from the next begin() on.
  void set_timeout(std::uint64_t timeout_ms);

  // An operation begins: all that is sent and received for it must be done within the time limit.
  void begin() { deadline_ = Clock::now() + timeout_; }

  // The operation that began last has had its time. A server that sends a byte now and then never lets a wait pass it.
  [[nodiscard]] bool is_over() const { return Clock::now() >= deadline_; }

  // As send and recv, without SIGPIPE and EINTR: -1 with errno, EAGAIN when the time is over, ECANCELED at an
  // interruption; 0: closed.
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
