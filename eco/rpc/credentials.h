// Who may talk to whom: mutual TLS between servers, plain text where none is configured (loopback only).
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

namespace eco {

// PEM files. All three, or none.
struct TlsFiles {
  std::string ca, certificate, key;
  [[nodiscard]] bool none() const { return ca.empty() && certificate.empty() && key.empty(); }
};

// Throw std::runtime_error: a file is missing or cannot be read.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsFiles& files);
[[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsFiles& files);

// Whether an address HOST:PORT is of this machine alone: 127.x.x.x, [::1], localhost or a Unix socket.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace eco
