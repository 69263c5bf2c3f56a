// The tables of a job, on a TCP connection of their own beside its gRPC stream. The messages are the stream's; the
// bytes of a table follow their message instead of lying within it, so that the kernel sends a file by itself and what
// arrives is written from where it was received.
//
// A frame: the length of the message and of what follows it (4 bytes each, least significant first), the message, the
// bytes. With a key the connection is TLS 1.3, both sides having the key (and ephemeral Diffie-Hellman): only who was
// told it on the job's own stream, mutually authenticated, can speak here.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "tcp.h"

struct ssl_ctx_st;
struct ssl_st;

namespace eco {

class DataChannel {
 public:
  static constexpr std::size_t key_bytes = 32, ticket_bytes = 16, message_bytes_max = 1 << 20,
                               payload_bytes_max = 64 << 20;
  enum class Side : std::uint8_t { primary, worker };

  // Over a connection. key: of key_bytes, or empty: plain text. Nothing: they do not agree; `why` tells.
  [[nodiscard]] static std::unique_ptr<DataChannel> over(Fd fd, Side side, const std::string& key, std::string& why);
  ~DataChannel();
  DataChannel(const DataChannel&) = delete;
  DataChannel& operator=(const DataChannel&) = delete;

  // Any thread sends, one receives. False: the other side is gone, or sent what is no frame.
  [[nodiscard]] bool send(const google::protobuf::MessageLite& message, std::string_view payload);
  // With so many bytes of a file.
  [[nodiscard]] bool send_file(const google::protobuf::MessageLite& message, int file, std::uint64_t offset,
                               std::size_t bytes);
  // The message; its payload has to be received next, in parts or at once.
  [[nodiscard]] bool receive(google::protobuf::MessageLite& message, std::size_t& payload_bytes);
  [[nodiscard]] bool receive_payload(char* data, std::size_t bytes);
  // receive() was refused because the other side had finished, between two frames.
  [[nodiscard]] bool ended() const { return ended_; }
  // Nothing more is sent.
  void finish();
  // Both sides' calls return false from now on.
  void shut();

 private:
  DataChannel(Fd fd, ssl_ctx_st* context, ssl_st* ssl) : fd_(std::move(fd)), context_(context), ssl_(ssl) {}
  [[nodiscard]] bool write(const char* data, std::size_t bytes, bool more);
  // With TLS: what is buffered goes out.
  [[nodiscard]] bool flush();
  // What came, 0 at the end; negative: it broke.
  [[nodiscard]] long read_some(char* data, std::size_t bytes);
  [[nodiscard]] bool read(char* data, std::size_t bytes);
  [[nodiscard]] bool send_head(const google::protobuf::MessageLite& message, std::size_t payload_bytes);
  // One of OpenSSL's calls until it has done something; its result.
  int tls(const std::function<int()>& call);

  Fd fd_;
  ssl_ctx_st* context_;
  ssl_st* ssl_;  // nullptr: plain text
  std::mutex sending_, tls_;
  std::string head_, in_, part_;
  bool ended_ = false;
};

}  // namespace eco
