// TCP as the data connections of jobs use it.
#pragma once

#include <string>

namespace eco {

// A file descriptor, closed with it.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd();
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  int release();

 private:
  int fd_;
};

// "10.0.0.2" of "10.0.0.2:7070", "::1" of "[::1]:7070"; empty: it is no address of TCP.
[[nodiscard]] std::string host_of(const std::string& address);

// Port 0: a free one. Invalid: it cannot be had, or not within the time; errno tells.
[[nodiscard]] Fd listen_tcp(const std::string& host, int port);
[[nodiscard]] Fd connect_tcp(const std::string& host, int port, int timeout_ms);
[[nodiscard]] int port_of(const Fd& listener);

// Exactly so many bytes. False: the other side is gone, or the socket's timeout is over.
[[nodiscard]] bool write_all(int fd, const char* data, std::size_t bytes);
[[nodiscard]] bool read_all(int fd, char* data, std::size_t bytes);

}  // namespace eco
