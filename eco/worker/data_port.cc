#include "data_port.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "data_channel.h"

namespace eco {
namespace {

constexpr timeval ticket_time{.tv_sec = 0, .tv_usec = 300'000};

}  // namespace

std::string random_bytes(std::size_t bytes) {
  std::string data(bytes, '\0');
  if (getrandom(data.data(), bytes, 0) != static_cast<ssize_t>(bytes))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  return data;
}

DataPort::DataPort(const std::string& host, int port) : listener_(listen_tcp(host, port)) {
  if (!listener_) throw std::runtime_error(fmt::format("{}:{}: {}", host, port, std::strerror(errno)));
  port_ = port_of(listener_);
  thread_ = std::thread([this] { listen(); });
}

DataPort::~DataPort() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  ::shutdown(listener_.get(), SHUT_RDWR);  // makes accept return
  thread_.join();
}

void DataPort::listen() {
  while (true) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    if (!fd) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // probably too many open files
      continue;
    }
    std::string ticket(DataChannel::ticket_bytes, '\0');
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &ticket_time, sizeof ticket_time);
    if (!read_all(fd.get(), ticket.data(), ticket.size())) continue;
    const timeval none{};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    const std::lock_guard lock(mutex_);
    const auto claim = claims_.find(ticket);
    if (claim == claims_.end() || claim->second) continue;
    claim->second = std::move(fd);
    change_.notify_all();
  }
}

DataPort::Claim::Claim(DataPort& port) : port_(port), ticket_(random_bytes(DataChannel::ticket_bytes)) {
  const std::lock_guard lock(port_.mutex_);
  port_.claims_.emplace(ticket_, Fd());
}

DataPort::Claim::~Claim() {
  const std::lock_guard lock(port_.mutex_);
  port_.claims_.erase(ticket_);
}

Fd DataPort::Claim::wait(int timeout_ms) {
  std::unique_lock lock(port_.mutex_);
  Fd& fd = port_.claims_.at(ticket_);
  port_.change_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return static_cast<bool>(fd); });
  return std::move(fd);
}

}  // namespace eco
