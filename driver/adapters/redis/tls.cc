#include "tls.h"

#ifdef EDGEJOULE_OPENSSL
#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

namespace edgejoule::driver {
namespace {

int length(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max())); }

const PatientSocket& socket_of(BIO* bio) { return *static_cast<const PatientSocket*>(BIO_get_data(bio)); }

int finished(BIO* bio, ssize_t moved) {
  BIO_clear_retry_flags(bio);
  return static_cast<int>(moved);
}

// OpenSSL's default socket BIO raises SIGPIPE if the server has closed.
BIO_METHOD* quiet_socket() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    BIO_meth_set_write(made, [](BIO* bio, const char* bytes, int size) {
      return finished(bio, socket_of(bio).send(bytes, static_cast<std::size_t>(size)));
    });
    BIO_meth_set_read(made, [](BIO* bio, char* bytes, int size) {
      return finished(bio, socket_of(bio).receive(bytes, static_cast<std::size_t>(size)));
    });
    BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH ? 1 : 0; });
    return made;
  }();
  return method;
}

std::string reason() {
  std::array<char, 256> text{};
  const auto code = ERR_get_error();
  if (code == 0) return "the server ended it";
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 || inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

struct RedisTls::State {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* session = nullptr;

  ~State() {
    SSL_free(session);
    SSL_CTX_free(context);
  }
};

RedisTls::RedisTls(const PatientSocket& socket, const ServerOptions& options) : state_(std::make_unique<State>()) {
  const auto refuse = [&options](std::string_view what) {
    throw DatabaseError(fmt::format(
        "Redis at {}: TLS: {}: {}; is it a TLS port, and does redis.tls_ca_file hold who signed its certificate?",
        options.address(), what, reason()));
  };
  ERR_clear_error();
  auto* const context = state_->context;
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, options.tls_verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (options.tls_ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, options.tls_ca_file.c_str(), nullptr) != 1) {
    refuse(options.tls_ca_file);
  }
  if (!options.tls_cert_file.empty() &&
      SSL_CTX_use_certificate_chain_file(context, options.tls_cert_file.c_str()) != 1) {
    refuse(options.tls_cert_file);
  }
  if (!options.tls_key_file.empty() &&
      SSL_CTX_use_PrivateKey_file(context, options.tls_key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    refuse(options.tls_key_file);
  }
  state_->session = SSL_new(context);
  auto* const names = SSL_get0_param(state_->session);
  if (is_address(options.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(names, options.host.c_str());
  } else if (!options.is_socket()) {
    SSL_set_tlsext_host_name(state_->session, options.host.c_str());
    X509_VERIFY_PARAM_set1_host(names, options.host.c_str(), 0);
  }
  BIO* const bio = BIO_new(quiet_socket());
  BIO_set_data(bio, const_cast<PatientSocket*>(&socket));
  BIO_set_init(bio, 1);
  SSL_set_bio(state_->session, bio, bio);
  if (SSL_connect(state_->session) != 1) refuse("the connection was not made");
}

RedisTls::~RedisTls() = default;

ssize_t RedisTls::send(const char* bytes, std::size_t size) {
  ERR_clear_error();
  errno = 0;
  const int sent = SSL_write(state_->session, bytes, length(size));
  if (sent > 0) return sent;
  if (errno == 0) errno = ECONNRESET;
  return -1;
}

ssize_t RedisTls::receive(char* bytes, std::size_t size) {
  ERR_clear_error();
  errno = 0;
  const int received = SSL_read(state_->session, bytes, length(size));
  if (received > 0) return received;
  return errno == 0 ? 0 : -1;
}

}  // namespace edgejoule::driver

#else

namespace edgejoule::driver {

// Never created: redis_settings refuses redis.tls.
struct RedisTls::State {};
RedisTls::RedisTls(const PatientSocket& /*socket*/, const ServerOptions& /*options*/) {}
RedisTls::~RedisTls() = default;
ssize_t RedisTls::send(const char* /*bytes*/, std::size_t /*size*/) { return -1; }
ssize_t RedisTls::receive(char* /*bytes*/, std::size_t /*size*/) { return -1; }

}  // namespace edgejoule::driver
#endif
