#include "message_pipe.h"

#include <sys/socket.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstring>

#include "tcp.h"

namespace eco {

static_assert(MessagePipe::bytes_max <= INT_MAX);  // protobuf takes lengths as int

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
