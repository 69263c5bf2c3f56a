// TCP connections for the data of jobs.
#pragma once

#include <string>

namespace eco {

// Owns a file descriptor.
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

// The host in HOST:PORT: "10.0.0.2" of "10.0.0.2:7070", "::1" of "[::1]:7070"; empty: no TCP address.
[[nodiscard]] std::string host_of(const std::string& address);

// Port 0: a free port. Returns an invalid Fd on failure or timeout; errno has the reason.
[[nodiscard]] Fd listen_tcp(const std::string& host, int port);
[[nodiscard]] Fd connect_tcp(const std::string& host, int port, int timeout_ms);
[[nodiscard]] int port_of(const Fd& listener);

// Transfer exactly this many bytes. False: the other side is gone, or the socket timed out.
[[nodiscard]] bool write_all(int fd, const char* data, std::size_t bytes);
[[nodiscard]] bool read_all(int fd, char* data, std::size_t bytes);

}  // namespace eco
