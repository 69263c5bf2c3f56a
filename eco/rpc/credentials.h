// Credentials between servers: mutual TLS, or plain text if none is configured (loopback only).
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

namespace eco {

// PEM files; all three or none.
struct TlsFiles {
  std::string ca, certificate, key;
  [[nodiscard]] bool none() const { return ca.empty() && certificate.empty() && key.empty(); }
};

// Throw std::runtime_error if a file cannot be read.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsFiles& files);
[[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsFiles& files);

// Whether an address HOST:PORT belongs to this machine only: 127.x.x.x, [::1], localhost or a Unix socket.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace eco
