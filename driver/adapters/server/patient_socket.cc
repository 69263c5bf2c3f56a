#include "patient_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>

#include "lost_server.h"
#include "system/interruption.h"

namespace edgejoule::driver {

int PatientSocket::connect(int socket, std::uint64_t timeout_ms) {
  socket_ = socket;
  timeout_ = std::chrono::milliseconds(timeout_ms);
  begin();
  for (int ready = 0; ready <= 0;) {
    if (interruption() != 0) return ECANCELED;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (left.count() <= 0) return ETIMEDOUT;
    pollfd writable{socket, POLLOUT, 0};
    ready = poll(&writable, 1, static_cast<int>(std::min(left, interruption_poll).count()));
    if (ready < 0 && errno != EINTR) return errno;
  }
  int failure = 0;
  socklen_t size = sizeof failure;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) return errno;
  if (failure != 0) return failure;
  const int flags = fcntl(socket, F_GETFL);
  if (flags < 0 || fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) != 0) return errno;
  set_timeout(timeout_ms);
  return 0;
}

void PatientSocket::set_timeout(std::uint64_t timeout_ms) {
  timeout_ = std::chrono::milliseconds(timeout_ms);
  const auto poll_interval = std::min(timeout_, interruption_poll);
  const timeval time{0, static_cast<suseconds_t>(std::chrono::microseconds(poll_interval).count())};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

template <typename Move>
ssize_t PatientSocket::patiently(Move move) const {
  for (;;) {
    const ssize_t moved = move();
    if (moved >= 0) return moved;
    const bool waited = errno == EAGAIN || errno == EWOULDBLOCK;
    if (!waited && errno != EINTR) return moved;
    if (waited && interruption() != 0) {
      errno = ECANCELED;
      return moved;
    }
    if (is_over()) {
      errno = EAGAIN;
      return moved;
    }
  }
}

ssize_t PatientSocket::send(const char* bytes, std::size_t size) const {
  return patiently([&] { return ::send(socket_, bytes, size, MSG_NOSIGNAL); });
}

ssize_t PatientSocket::receive(char* bytes, std::size_t size) const {
  return patiently([&] { return ::recv(socket_, bytes, size, 0); });
}

}  // namespace edgejoule::driver
