// A blocking socket whose waits have an end: a time limit, or an interruption (src/interruption.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace edgejoule::driver {

class PatientSocket {
 public:
  // A connection under way. Returns 0 when it is made, else what errno names; ETIMEDOUT, ECANCELED: the wait ended.
  // The socket stays its owner's, who closes it.
  [[nodiscard]] int connect(int socket, std::uint64_t timeout_ms);

  // Of each wait from now on.
  void set_timeout(std::uint64_t timeout_ms);

  // As send and recv, without SIGPIPE and EINTR: -1 with errno, EAGAIN when the time is over, ECANCELED at an
  // interruption; 0: closed.
  [[nodiscard]] ssize_t send(const char* bytes, std::size_t size) const;
  [[nodiscard]] ssize_t receive(char* bytes, std::size_t size) const;

 private:
  template <typename Move>
  ssize_t patiently(Move move) const;

  int socket_ = -1;
  std::uint64_t looks_ = 1;  // of a wait: the socket's own time limit is a part of it
};

}  // namespace edgejoule::driver
