// What every database in a process of its own needs to be told: where it is, who asks, and how long to wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

struct ServerOptions {
  std::string host;  // a name, an address, or the path of a Unix socket (its directory for PostgreSQL)
  std::uint16_t port = 0;
  std::string user;
  std::string password;  // never in a message, an event or an option that is read back
  bool tls = false;
  bool tls_verify = true;
  std::string tls_ca_file;
  std::string tls_cert_file;
  std::string tls_key_file;
  std::uint64_t connect_timeout_ms = 0;
  std::uint64_t timeout_ms = 0;    // of an operation
  std::uint64_t reconnect_ms = 0;  // how long a lost server is waited for
  std::uint64_t watch_ms = 0;      // 0: not watched

  [[nodiscard]] bool is_socket() const { return host.starts_with('/'); }
  [[nodiscard]] std::string address() const;  // "HOST:PORT", or the socket
  [[nodiscard]] bool is_local() const;        // on this machine, as far as its name tells
};

// "NAME.host" and so on.
[[nodiscard]] std::vector<OptionHelp> server_option_help(const std::string& adapter, std::uint16_t port);

// Throws UsageError, also when a password's file or variable is not there.
[[nodiscard]] ServerOptions server_options(const Properties& properties, const std::string& adapter,
                                           std::uint16_t port);

// Of the connection, for Database::options(): without the password.
[[nodiscard]] std::map<std::string, std::string> shown(const ServerOptions& options);

// What is to be done about a server that does not answer.
[[nodiscard]] std::string how_to_reach(const std::string& adapter, const ServerOptions& options);

}  // namespace edgejoule::driver
