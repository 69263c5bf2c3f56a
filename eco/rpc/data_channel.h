// Carries a job's tables on a separate TCP connection beside its gRPC stream. The messages are the stream's. A table's
// bytes follow their message instead of being inside it, so that the kernel sends a file directly and received bytes
// are written without a copy.
//
// A frame is the length of the message and the length of the payload (4 bytes each, least significant first), the
// message, and the payload. With a key the connection uses TLS 1.3 with a pre-shared key and ephemeral Diffie-Hellman.
// The key travels on the job's mutually authenticated stream, so that only its two ends can connect.
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

  // Opens a channel over a connection. key: key_bytes long, or empty for plain text. Returns nothing and sets `why` if
  // the sides disagree.
  [[nodiscard]] static std::unique_ptr<DataChannel> over(Fd fd, Side side, const std::string& key, std::string& why);
  ~DataChannel();
  DataChannel(const DataChannel&) = delete;
  DataChannel& operator=(const DataChannel&) = delete;

  // Any thread sends, one receives. False: the other side is gone or sent no valid frame.
  [[nodiscard]] bool send(const google::protobuf::MessageLite& message, std::string_view payload);
  // With this many bytes of a file as payload.
  [[nodiscard]] bool send_file(const google::protobuf::MessageLite& message, int file, std::uint64_t offset,
                               std::size_t bytes);
  // Receives a message; the caller must then receive its payload, in parts or whole.
  [[nodiscard]] bool receive(google::protobuf::MessageLite& message, std::size_t& payload_bytes);
  [[nodiscard]] bool receive_payload(char* data, std::size_t bytes);
  // receive() failed because the other side had finished, between two frames.
  [[nodiscard]] bool ended() const { return ended_; }
  // Ends sending.
  void finish();
  // Makes the calls of both sides return false from now on.
  void shut();

 private:
  DataChannel(Fd fd, ssl_ctx_st* context, ssl_st* ssl) : fd_(std::move(fd)), context_(context), ssl_(ssl) {}
  [[nodiscard]] bool write(const char* data, std::size_t bytes, bool more);
  // With TLS: sends the buffered records.
  [[nodiscard]] bool flush();
  // Bytes received; 0 at the end; negative: the connection broke.
  [[nodiscard]] long read_some(char* data, std::size_t bytes);
  [[nodiscard]] bool read(char* data, std::size_t bytes);
  [[nodiscard]] bool send_head(const google::protobuf::MessageLite& message, std::size_t payload_bytes);
  // Repeats an OpenSSL call until it makes progress; returns its result.
  int tls(const std::function<int()>& call);

  Fd fd_;
  ssl_ctx_st* context_;
  ssl_st* ssl_;  // nullptr: plain text
  std::mutex sending_, tls_;
  std::string head_, in_, part_;
  bool ended_ = false;
};

}  // namespace eco
