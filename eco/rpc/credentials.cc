#include "credentials.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace eco {
namespace {

std::string contents(const std::string& path, const char* what) {
  if (path.empty())
    throw std::runtime_error(fmt::format("TLS requires a CA, a certificate and a key: no {} is given", what));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw std::runtime_error(fmt::format("{}: the {} cannot be read", path, what));
  return text.str();
}

struct Pem {
  explicit Pem(const TlsFiles& files)
      : ca(contents(files.ca, "CA")),
        certificate(contents(files.certificate, "certificate")),
        key(contents(files.key, "key")) {}
  std::string ca, certificate, key;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsFiles& files) {
  if (files.none()) return grpc::InsecureServerCredentials();
  Pem pem(files);
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = std::move(pem.ca);
  options.pem_key_cert_pairs.push_back({std::move(pem.key), std::move(pem.certificate)});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsFiles& files) {
  if (files.none()) return grpc::InsecureChannelCredentials();
  Pem pem(files);
  return grpc::SslCredentials({std::move(pem.ca), std::move(pem.key), std::move(pem.certificate)});
}

bool is_loopback(const std::string& address) {
  for (const char* prefix : {"localhost:", "[::1]:", "unix:"})
    if (address.starts_with(prefix)) return true;
  const std::string host = address.substr(0, address.rfind(':'));
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace eco
