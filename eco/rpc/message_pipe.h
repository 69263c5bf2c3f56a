// Sends messages over a stream socket between two processes of one machine: each as its length (4 bytes, native order)
// and its bytes.
#pragma once

#include <google/protobuf/message_lite.h>

#include <mutex>
#include <string>

namespace eco {

class MessagePipe {
 public:
  static constexpr std::size_t bytes_max = 64 << 20;

  // Owns fd.
  explicit MessagePipe(int fd) : fd_(fd) {}
  ~MessagePipe();
  MessagePipe(const MessagePipe&) = delete;
  MessagePipe& operator=(const MessagePipe&) = delete;

  // False: the other side is gone or sent no valid message. Any thread may send; one receives.
  [[nodiscard]] bool send(const google::protobuf::MessageLite& message);
  [[nodiscard]] bool receive(google::protobuf::MessageLite& message);
  // Makes send and receive of both sides return false from now on.
  void shut();

 private:
  int fd_;
  std::mutex sending_;
  std::string out_, in_;
};

}  // namespace eco
