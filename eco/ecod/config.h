// The daemon's configuration in TOML. Every key has a default that works for a single server. config.cc describes
// sections and keys once; reading, refusing unknown keys and `ecod --print-config` all use that description.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "credentials.h"
#include "policy.h"

namespace eco {

struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;  // "FILE:LINE: KEY: what is wrong; what was expected"
};

struct FederationConfig {
  std::string mode = "none";  // none, nats, master, member
  std::string name = "edge";
  std::string listen = "127.0.0.1:7421";                   // master: host:port
  std::string master;                                      // member: host:port
  bool candidate = true;                                   // nats: may be elected
  std::vector<std::string> urls{"nats://127.0.0.1:4222"};  // nats
  std::int64_t replicas = 3;                               // nats: copies of its buckets
  std::int64_t beat_ms = 1000, alive_ms = 3500, lease_ms = 5000, table_age_max_ms = 15000, place_timeout_ms = 20,
               forget_ms = 3600 * 1000;
};

struct PolicyConfig {
  std::string name = "eco-plus";
  bool shadow = false;
  double read_weight = Policy{}.read_weight, busy_max = Policy{}.busy_max, battery_low = Policy{}.battery_low;
};

struct TelemetryConfig {
  std::string network_interface;  // empty: that of the default route
  std::string cgroup;             // empty: the whole server
  double cores = 0;               // 0: all
  double link_mbit_s = 0;         // 0: the interface's speed
};

struct PowerConfig {
  double busy_core_w = 0, idle_w = 0;  // 0: a default; power_method shows it
  double transfer_j_per_byte = 5e-9;
  bool rapl = true;
  double energy_weight = 1;
};

struct WorkerConfig {
  bool enabled = true;
  std::string listen = "127.0.0.1:7420", address;  // empty address: `listen`
  std::string rocksdb;                             // empty: the linked release
  std::string scratch = "/var/tmp/ecod";
  std::int64_t data_port = 0, slots = 1, queue = 8, nice = 0;
  std::string cgroup;
  double job_cpu_s_max = 0;
  std::map<std::string, std::string> shared_directory;
};

struct Config {
  std::string name;  // empty: the host name
  std::string node_socket = "/run/ecod/node.sock", control_socket = "/run/ecod/control.sock";
  std::string node_socket_mode = "0660";
  std::string state_directory = "/var/lib/ecod";
  std::string log_level = "info";
  TlsFiles tls;
  FederationConfig federation;
  PolicyConfig policy;
  TelemetryConfig telemetry;
  PowerConfig power;
  WorkerConfig worker;
  std::string metrics_listen = "127.0.0.1:9464";

  std::map<std::string, std::string> where;  // "FILE:LINE" of each key in the file
  std::vector<std::string> warnings;         // "FILE:LINE: KEY: what to change"
};

// Throws ConfigError, also if the file is absent.
[[nodiscard]] Config read_config(const std::filesystem::path& file);
[[nodiscard]] Config parse_config(const std::string& toml, const std::string& file);

// Annotated TOML that read_config() reads back as the same configuration.
[[nodiscard]] std::string print_config(const Config& config);

// The configured policy. Throws ConfigError if its name is unknown.
[[nodiscard]] Policy policy_of(const Config& config);

}  // namespace eco
