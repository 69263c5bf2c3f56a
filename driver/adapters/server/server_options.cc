#include "server_options.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "adapters/adapter_options.h"
#include "contract/properties.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t wait_ms_max = 3'600'000;

std::string password_of(const Properties& properties, const std::string& adapter) {
  const auto plain = adapter + ".password";
  const auto variable = adapter + ".password_env";
  const auto file = adapter + ".password_file";
  if (properties.has(plain) + properties.has(variable) + properties.has(file) > 1) {
    throw UsageError(fmt::format("expected one of {}, {} and {}, not several", plain, variable, file));
  }
  if (properties.has(variable)) {
    const auto name = properties.get(variable, "");
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) {
      throw UsageError(fmt::format("{}: property {}={}: no such environment variable is set",
                                   properties.origin(variable), variable, name));
    }
    return value;
  }
  if (properties.has(file)) {
    const auto path = properties.get(file, "");
    std::ifstream in(path);
    std::string line;
    if (!in || !std::getline(in, line)) {
      throw UsageError(fmt::format("{}: property {}={}: cannot be read: {}", properties.origin(file), file, path,
                                   in.is_open() ? "it is empty" : std::strerror(errno)));
    }
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }
  return properties.get(plain, "");
}

std::string readable_file(const Properties& properties, const std::string& key) {
  const auto path = properties.get(key, "");
  if (!path.empty() && !std::ifstream(path)) {
    throw UsageError(
        fmt::format("{}: property {}={}: cannot be read: {}", properties.origin(key), key, path, std::strerror(errno)));
  }
  return path;
}

}  // namespace

std::string ServerOptions::address() const { return is_socket() ? host : fmt::format("{}:{}", host, port); }

bool ServerOptions::is_local() const {
  return is_socket() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::vector<OptionHelp> server_option_help(const std::string& adapter, std::uint16_t port) {
  const auto named = [&adapter](const std::string& name) { return adapter + "." + name; };
  return {
      {named("host"), "name or address of the server, or the path of its Unix socket", "127.0.0.1"},
      {named("port"), "port of the server", std::to_string(port)},
      {named("user"), "user name for the login", ""},
      {named("password"), "password; visible in the process list, so prefer password_env or password_file", ""},
      {named("password_env"), "environment variable that holds the password", ""},
      {named("password_file"), "file whose first line is the password", ""},
      {named("tls"), "encrypt the connection", "false"},
      {named("tls_ca_file"), "certificates of the authorities that may sign the server's (PEM)", "the system's"},
      {named("tls_cert_file"), "client certificate (PEM)", ""},
      {named("tls_key_file"), "private key of the client certificate (PEM)", ""},
      {named("tls_verify"), "verify the server's certificate; false accepts any", "true"},
      {named("connect_timeout_ms"), "time limit for a connection attempt", "5000"},
      {named("timeout_ms"), "time limit of an operation; after it the operation fails and the driver reconnects",
       "10000"},
      {named("reconnect_ms"), "time to wait for a server that is unreachable or still loads its data; 0: do not wait",
       "30000"},
      {named("watch_ms"), "interval between queries for the server's background work (events); 0: never", "1000"},
  };
}

ServerOptions server_options(const Properties& properties, const std::string& adapter, std::uint16_t port) {
  const auto named = [&adapter](const std::string& name) { return adapter + "." + name; };
  ServerOptions options;
  options.host = properties.get(named("host"), "127.0.0.1");
  if (options.host.empty()) throw UsageError(fmt::format("property {} is empty; expected a name", named("host")));
  options.port = static_cast<std::uint16_t>(bounded_option(properties, named("port"), port, 1, 65535));
  options.user = properties.get(named("user"), "");
  options.password = password_of(properties, adapter);
  options.tls = properties.get_bool(named("tls"), false);
  options.tls_verify = properties.get_bool(named("tls_verify"), true);
  options.tls_ca_file = readable_file(properties, named("tls_ca_file"));
  options.tls_cert_file = readable_file(properties, named("tls_cert_file"));
  options.tls_key_file = readable_file(properties, named("tls_key_file"));
  options.connect_timeout_ms = bounded_option(properties, named("connect_timeout_ms"), 5000, 1, wait_ms_max);
  options.timeout_ms = bounded_option(properties, named("timeout_ms"), 10000, 1, wait_ms_max);
  options.reconnect_ms = bounded_option(properties, named("reconnect_ms"), 30000, 0, wait_ms_max);
  options.watch_ms = bounded_option(properties, named("watch_ms"), 1000, 0, wait_ms_max);
  return options;
}

std::map<std::string, std::string> shown(const ServerOptions& options) {
  std::map<std::string, std::string> all = {{"address", options.address()},
                                            {"tls", options.tls ? "true" : "false"},
                                            {"connect_timeout_ms", std::to_string(options.connect_timeout_ms)},
                                            {"timeout_ms", std::to_string(options.timeout_ms)},
                                            {"reconnect_ms", std::to_string(options.reconnect_ms)},
                                            {"watch_ms", std::to_string(options.watch_ms)}};
  if (options.tls) all["tls_verify"] = options.tls_verify ? "true" : "false";
  if (!options.user.empty()) all["user"] = options.user;
  return all;
}

std::string how_to_reach(const std::string& adapter, const ServerOptions& options) {
  return fmt::format("is a server running at {}? Set {}.host and {}.port", options.address(), adapter, adapter);
}

}  // namespace edgejoule::driver
