#include "tcp.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

namespace eco {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC, hints.ai_socktype = SOCK_STREAM, hints.ai_flags = AI_NUMERICSERV;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  return {found, freeaddrinfo};
}

Fd socket_for(const addrinfo& address, int flags) {
  Fd fd(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | flags, address.ai_protocol));
  const int on = 1;  // no delay: sends each request at once
  if (fd) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

bool connected(int fd, const addrinfo& address, int timeout_ms) {
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (::poll(&wait, 1, timeout_ms) == 1) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}
Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}
int Fd::release() { return std::exchange(fd_, -1); }

std::string host_of(const std::string& address) {
  if (address.find('/') != std::string::npos || address.starts_with("unix:")) return "";
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return "";
  const std::string host = address.substr(0, colon);
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

Fd listen_tcp(const std::string& host, int port) {
  const Addresses addresses = addresses_of(host, port);
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Fd fd = socket_for(*address, 0);
    const int on = 1;
    if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd && ::bind(fd.get(), address->ai_addr, address->ai_addrlen) == 0 && ::listen(fd.get(), 64) == 0) return fd;
  }
  return Fd();
}

Fd connect_tcp(const std::string& host, int port, int timeout_ms) {
  const Addresses addresses = addresses_of(host, port);
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Fd fd = socket_for(*address, SOCK_NONBLOCK);
    if (!fd || !connected(fd.get(), *address, timeout_ms)) continue;
    ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
    return fd;
  }
  return Fd();
}

int port_of(const Fd& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  const bool six = address.ss_family == AF_INET6;
  return ntohs(six ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

bool write_all(int fd, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::send(fd, data, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool read_all(int fd, char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::recv(fd, data, bytes, MSG_WAITALL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace eco
