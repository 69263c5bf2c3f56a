#include "config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "strict_toml.h"

namespace eco {
namespace {

// Visits every key once: visit.section(NAME, ABOUT), visit(KEY, FIELD, ABOUT), visit.retired(KEY, WHY).
template <typename Configuration, typename Visitor>
void visit_keys(Configuration& c, Visitor& visit) {
  visit.section("", "");
  visit("name", c.name, "name of this server in the federation: letters, digits, - and _; empty: the host name");
  visit("node_socket", c.node_socket, "Unix socket for the applications of this server");
  visit("node_socket_mode", c.node_socket_mode, "its permissions, octal");
  visit("control_socket", c.control_socket, "Unix socket for ecoctl; accessible only to its owner");
  visit("state_directory", c.state_directory, "data kept across restarts: the models, a static master's settings");
  visit("log_level", c.log_level, "trace, debug, info, warning, error");

  visit.section("tls", "Certificates between servers; each side presents one that `ca` has signed.");
  visit("ca", c.tls.ca, "PEM file");
  visit("certificate", c.tls.certificate, "PEM file; its names must include the host of the addresses below");
  visit("key", c.tls.key, "PEM file");

  visit.section("federation", "How the servers choose a master and exchange telemetry.");
  auto& f = c.federation;
  visit("mode", f.mode,
        "none: this server alone; nats: NATS elects the master; master: this server is always the master; member: "
        "`master` is the master");
  visit("name", f.name, "servers with the same name form one federation (nats)");
  visit("listen", f.listen, "host:port for the members (master); beyond loopback only with [tls]");
  visit("master", f.master, "host:port of the static master (member)");
  visit("candidate", f.candidate, "this server may become the master (nats)");
  visit("urls", f.urls, "of the NATS servers; tls:// beyond loopback, with [tls]");
  visit("replicas", f.replicas, "copies of NATS' data: 3 with three NATS servers, else 1");
  visit("beat_ms", f.beat_ms, "interval at which telemetry is read and published");
  visit("alive_ms", f.alive_ms, "a server that sends no message for this time counts as dead");
  visit("lease_ms", f.lease_ms, "a master that cannot renew its lease for this time steps down (nats)");
  visit("table_age_max_ms", f.table_age_max_ms,
        "without a master, servers use the last server table for this time; then each compacts for itself");
  visit("forget_ms", f.forget_ms, "a server that sends no message for this time leaves the table");
  visit("place_timeout_ms", f.place_timeout_ms, "time limit for the master's answer");

  visit.section("policy",
                "Where compactions run; the master's section holds. `ecoctl policy` overrides it; SIGHUP reloads it.");
  visit("name", c.policy.name, policy_list());
  visit("shadow", c.policy.shadow, "decide and log, offload nothing");
  visit("read_weight", c.policy.read_weight, "eco-plus: weight of reads while level 0 is full");
  visit("busy_max", c.policy.busy_max, "a server that uses a larger share of its cores or its link takes no jobs");
  visit("battery_low", c.policy.battery_low, "eco-plus: below this charge a joule costs ten times as much");
  visit.retired("hedge", "second attempts at late jobs were removed");

  visit.section("telemetry", "");
  visit("network_interface", c.telemetry.network_interface, "network interface; empty: that of the default route");
  visit("cgroup", c.telemetry.cgroup,
        "folder of the cgroup that limits this server (v1: the cpu controller's); empty: the whole machine");
  visit("cores", c.telemetry.cores, "cores that eco may use; 0: all of the machine or the cgroup");
  visit("link_mbit_s", c.telemetry.link_mbit_s,
        "link speed; 0: as the interface reports; without a known speed nothing is offloaded");

  visit.section("power", "For energy estimates without a meter. 0: a default, which `ecoctl servers` shows.");
  visit("busy_core_w", c.power.busy_core_w, "watts of one busy core, above idle");
  visit("idle_w", c.power.idle_w, "watts of the idle server");
  visit("transfer_j_per_byte", c.power.transfer_j_per_byte, "joules per byte sent or received");
  visit("rapl", c.power.rapl, "read the processor's energy counters if available");
  visit("energy_weight", c.power.energy_weight, "price of a joule here, relative to the other servers");

  visit.section("worker", "Compactions of other servers.");
  visit("enabled", c.worker.enabled, "take them");
  visit("listen", c.worker.listen, "host:port for the primaries; beyond loopback only with [tls]");
  visit("address", c.worker.address, "host:port under which primaries reach it; empty: `listen`");
  visit("data_port", c.worker.data_port, "port for the tables, on the host of `listen`; 0: a free port");
  visit("scratch", c.worker.scratch, "a separate folder, with room for the outputs of all slots");
  visit("slots", c.worker.slots, "jobs that run at the same time");
  visit("queue", c.worker.queue, "jobs that may wait for a slot; further jobs are refused");
  visit("nice", c.worker.nice, "added to the nice value of the jobs' processes");
  visit("cgroup", c.worker.cgroup, "folder of the cgroup (v2) in which the jobs' processes run; empty: none");
  visit("job_cpu_s_max", c.worker.job_cpu_s_max, "a job that uses more CPU seconds is stopped; 0: no limit");
  visit("shared_directory", c.worker.shared_directory,
        "where this server sees a primary's folder (NFS): { \"/var/lib/db\" = \"/mnt/edge1\" }; other tables are "
        "streamed");
  visit("rocksdb", c.worker.rocksdb, "RocksDB release to compact for; empty: the one that ecod is linked with");

  visit.section("metrics", "Prometheus.");
  visit("listen", c.metrics_listen, "host:port on loopback; empty: no metrics");
}

std::string qualified(std::string_view section, std::string_view key) {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& file, Config& config) : config_(config) {
    tables_.push_back(StrictToml::parse(text, file));
  }

  void section(std::string_view name, std::string_view) {
    section_ = name;
    if (!name.empty()) tables_.push_back(tables_.front().table(name));
  }

  template <typename Field>
  void operator()(std::string_view key, Field& field, std::string_view) {
    if (tables_.back().read(key, field)) config_.where[qualified(section_, key)] = tables_.back().where(key);
  }

  void retired(std::string_view key, std::string_view why) { tables_.back().retired(key, why, config_.warnings); }

  void refuse_unknown() const {
    for (const StrictToml& table : tables_) table.done();
  }

 private:
  std::vector<StrictToml> tables_;  // the top level, then the sections
  std::string section_;
  Config& config_;
};

class Printer {
 public:
  void section(std::string_view name, std::string_view about) {
    if (name.empty()) return;
    text_ += about.empty() ? "\n" : fmt::format("\n# {}\n", about);
    text_ += fmt::format("[{}]\n", name);
  }
  template <typename Field>
  void operator()(std::string_view key, const Field& field, std::string_view about) {
    text_ += fmt::format("# {}\n{} = {}\n", about, key, text_of(field));
  }
  void retired(std::string_view, std::string_view) {}
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  static std::string text_of(const std::string& value) {
    const toml::value<std::string> node(value);
    std::ostringstream out;
    out << toml::toml_formatter(node, toml::toml_formatter::default_flags & ~toml::format_flags::allow_literal_strings);
    return out.str();
  }
  static std::string text_of(bool value) { return value ? "true" : "false"; }
  template <typename Number>
  requires std::integral<Number> || std::floating_point<Number>
  static std::string text_of(Number value) { return fmt::format("{}", value); }
  static std::string text_of(const std::vector<std::string>& values) {
    std::vector<std::string> quoted;
    for (const auto& value : values) quoted.push_back(text_of(value));
    return fmt::format("[{}]", fmt::join(quoted, ", "));
  }
  static std::string text_of(const std::map<std::string, std::string>& values) {
    std::vector<std::string> pairs;
    for (const auto& [name, value] : values) pairs.push_back(fmt::format("{} = {}", text_of(name), text_of(value)));
    return pairs.empty() ? "{}" : fmt::format("{{ {} }}", fmt::join(pairs, ", "));
  }

  std::string text_;
};

[[noreturn]] void fail(const Config& config, const std::string& key, std::string_view what) {
  const auto where = config.where.find(key);
  throw ConfigError(fmt::format("{}{}: {}", where == config.where.end() ? "" : where->second + ": ", key, what));
}

void require_one_of(const Config& config, const std::string& key, const std::string& value,
                    const std::vector<std::string>& allowed) {
  if (std::ranges::find(allowed, value) == allowed.end())
    fail(config, key, fmt::format("\"{}\"; expected {}", value, fmt::join(allowed, ", ")));
}

void require_host_port(const Config& config, const std::string& key, const std::string& value) {
  const auto colon = value.rfind(':');
  const std::string port = colon == std::string::npos ? "" : value.substr(colon + 1);
  const bool digits =
      !port.empty() && port.size() <= 5 && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (colon == std::string::npos || colon == 0 || !digits || std::stoi(port) > 65535)
    fail(config, key, fmt::format("\"{}\"; expected host:port", value));
}

void require_listen(const Config& config, const std::string& key, const std::string& value) {
  require_host_port(config, key, value);
  if (!is_loopback(value) && config.tls.none())
    fail(config, key, fmt::format("{} is reachable from other machines and requires certificates, [tls]", value));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  const std::string full = name.data();
  return full.substr(0, full.find('.'));
}

void check_federation(const Config& config) {
  const auto& f = config.federation;
  require_one_of(config, "federation.mode", f.mode, {"none", "nats", "master", "member"});
  if (f.mode == "member") require_host_port(config, "federation.master", f.master);
  if (f.mode == "member" && config.tls.none() && !is_loopback(f.master))
    fail(config, "federation.master", "a master beyond loopback requires certificates, [tls]");
  if (f.mode == "master") require_listen(config, "federation.listen", f.listen);
  if (f.beat_ms < 1) fail(config, "federation.beat_ms", "expected 1 or more");
  if (f.replicas < 1 || f.replicas > 5) fail(config, "federation.replicas", "expected 1 to 5");
  if (f.alive_ms < 2 * f.beat_ms) fail(config, "federation.alive_ms", "expected at least two beats (beat_ms)");
  if (f.lease_ms < 2 * f.beat_ms) fail(config, "federation.lease_ms", "expected at least two beats (beat_ms)");
  if (f.mode != "nats") return;
  if (f.urls.empty()) fail(config, "federation.urls", "expected at least one NATS server");
  for (const auto& url : f.urls) {
    const auto slashes = url.find("://");
    const std::string scheme = slashes == std::string::npos ? "" : url.substr(0, slashes);
    if (scheme != "nats" && scheme != "tls")
      fail(config, "federation.urls", fmt::format("\"{}\"; expected nats://host:port or tls://host:port", url));
    const std::string rest = url.substr(slashes + 3), address = rest.substr(rest.find('@') + 1);
    if (address.find(':') != std::string::npos) require_host_port(config, "federation.urls", address);
    if (!is_loopback(address) && (scheme != "tls" || config.tls.none()))
      fail(config, "federation.urls",
           fmt::format("\"{}\": beyond loopback it takes tls:// and certificates, [tls]", url));
  }
}

void check(Config& config) {
  if (config.name.empty()) config.name = host_name();
  const auto allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
  if (config.name.empty() || !std::ranges::all_of(config.name, allowed))
    fail(config, "name", fmt::format("\"{}\"; expected letters, digits, - and _", config.name));
  if (config.federation.name.empty() || !std::ranges::all_of(config.federation.name, allowed))
    fail(config, "federation.name", fmt::format("\"{}\"; expected letters, digits, - and _", config.federation.name));
  if (config.worker.enabled) require_listen(config, "worker.listen", config.worker.listen);
  if (!config.worker.address.empty()) require_host_port(config, "worker.address", config.worker.address);
  if (config.worker.data_port < 0 || config.worker.data_port > 65535)
    fail(config, "worker.data_port", "expected 0 to 65535");
  if (config.worker.slots < 1 || config.worker.slots > 1000) fail(config, "worker.slots", "expected 1 to 1000");
  for (const auto& [there, here] : config.worker.shared_directory)
    if (!there.starts_with('/') || !here.starts_with('/'))
      fail(config, "worker.shared_directory", fmt::format("\"{}\" = \"{}\"; expected absolute paths", there, here));
  require_one_of(config, "log_level", config.log_level, {"trace", "debug", "info", "warning", "error"});
  const auto& tls = config.tls;
  if (tls.ca.empty() != tls.certificate.empty() || tls.ca.empty() != tls.key.empty())
    fail(config, "tls.ca", "ca, certificate and key go together");
  if (!config.metrics_listen.empty()) {
    require_host_port(config, "metrics.listen", config.metrics_listen);
    if (!is_loopback(config.metrics_listen))
      fail(config, "metrics.listen", "expected a loopback address: the metrics have no password; put a proxy in front");
  }
  const bool octal = !config.node_socket_mode.empty() && config.node_socket_mode.size() <= 4 &&
                     std::ranges::all_of(config.node_socket_mode, [](char c) { return c >= '0' && c <= '7'; });
  if (!octal) fail(config, "node_socket_mode", "expected permissions in octal, such as \"0660\"");
  for (const auto& [key, path] : {std::pair{"node_socket", &config.node_socket},
                                  {"control_socket", &config.control_socket},
                                  {"state_directory", &config.state_directory}})
    if (path->empty()) fail(config, key, "expected a path");
  check_federation(config);
  if (config.policy.busy_max > 1) fail(config, "policy.busy_max", "expected 0 to 1");
  if (config.policy.battery_low > 1) fail(config, "policy.battery_low", "expected 0 to 1");
  (void)policy_of(config);
}

}  // namespace

Policy policy_of(const Config& config) {
  auto policy = policy_named(config.policy.name);
  if (!policy)
    fail(config, "policy.name",
         fmt::format("no policy is named \"{}\"; expected {}", config.policy.name, policy_list(" or ")));
  policy->read_weight = config.policy.read_weight;
  policy->busy_max = config.policy.busy_max;
  policy->battery_low = config.policy.battery_low;
  return *policy;
}

Config parse_config(const std::string& text, const std::string& file) {
  Config config;
  try {
    Reader reader(text, file, config);
    visit_keys(config, reader);
    reader.refuse_unknown();
  } catch (const TomlError& error) {
    throw ConfigError(error.what());
  }
  check(config);
  return config;
}

Config read_config(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file)) throw ConfigError(fmt::format("{}: is a folder", file.string()));
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw ConfigError(fmt::format("{}: cannot be read", file.string()));
  Config config = parse_config(text, file.string());
  for (const auto& [key, path] : {std::pair{"tls.ca", &config.tls.ca},
                                  {"tls.certificate", &config.tls.certificate},
                                  {"tls.key", &config.tls.key}}) {
    std::error_code unknown;  // without access permission the file is not known to be missing
    if (!path->empty() && !std::filesystem::exists(*path, unknown) && !unknown)
      fail(config, key, fmt::format("{}: there is no such file", *path));
  }
  return config;
}

std::string print_config(const Config& config) {
  Printer printer;
  visit_keys(config, printer);
  return std::move(printer).text();
}

}  // namespace eco
