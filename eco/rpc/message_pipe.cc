#include "message_pipe.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace eco {
namespace {

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
    const ssize_t n = ::recv(fd, data, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

MessagePipe::~MessagePipe() { ::close(fd_); }

bool MessagePipe::send(const google::protobuf::MessageLite& message) {
  const std::lock_guard lock(sending_);
  const std::size_t bytes = message.ByteSizeLong();
  if (bytes > bytes_max) return false;
  const auto length = static_cast<std::uint32_t>(bytes);
  out_.resize(sizeof length + bytes);
  std::memcpy(out_.data(), &length, sizeof length);
  if (!message.SerializeToArray(out_.data() + sizeof length, static_cast<int>(bytes))) return false;
  return write_all(fd_, out_.data(), out_.size());
}

bool MessagePipe::receive(google::protobuf::MessageLite& message) {
  std::uint32_t length = 0;
  if (!read_all(fd_, reinterpret_cast<char*>(&length), sizeof length) || length > bytes_max) return false;
  in_.resize(length);
  return read_all(fd_, in_.data(), length) && message.ParseFromArray(in_.data(), static_cast<int>(length));
}

void MessagePipe::shut() { ::shutdown(fd_, SHUT_RDWR); }

}  // namespace eco
