// Options common to all database servers: address, credentials and time limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

struct ServerOptions {
  std::string host;  // a name, an address, or the path of a Unix socket (for PostgreSQL its directory)
  std::uint16_t port = 0;
  std::string user;
  std::string password;  // never shown in a message, an event or options()
  bool tls = false;
  bool tls_verify = true;
  std::string tls_ca_file;
  std::string tls_cert_file;
  std::string tls_key_file;
  std::uint64_t connect_timeout_ms = 0;
  std::uint64_t timeout_ms = 0;    // of an operation
  std::uint64_t reconnect_ms = 0;  // how long to wait for a lost server
  std::uint64_t watch_ms = 0;      // 0: no watch

  [[nodiscard]] bool is_socket() const { return host.starts_with('/'); }
  [[nodiscard]] std::string address() const;  // "HOST:PORT", or the socket
  [[nodiscard]] bool is_local() const;        // on this machine, judged by the name
};

// "NAME.host" and so on.
[[nodiscard]] std::vector<OptionHelp> server_option_help(const std::string& adapter, std::uint16_t port);

// Throws UsageError, also if a password's file or variable is missing.
[[nodiscard]] ServerOptions server_options(const Properties& properties, const std::string& adapter,
                                           std::uint16_t port);

// The connection's options for Database::options(), without the password.
[[nodiscard]] std::map<std::string, std::string> shown(const ServerOptions& options);

// The remedy for a server that does not answer.
[[nodiscard]] std::string how_to_reach(const std::string& adapter, const ServerOptions& options);

}  // namespace edgejoule::driver
