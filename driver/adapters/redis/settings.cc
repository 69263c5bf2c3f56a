#include "settings.h"

#include <fmt/format.h>

#include <array>

#include "adapters/adapter_options.h"
#include "contract/properties.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint64_t wait_timeout_ms_max = 3'600'000;
constexpr std::array<std::string_view, 3> indexes = {"ycsb", "ordered", "none"};

RedisIndex index_of(const Properties& properties) {
  const auto name = choice_option(properties, "redis.index", "ycsb", indexes);
  return name == "ycsb" ? RedisIndex::ycsb : name == "ordered" ? RedisIndex::ordered : RedisIndex::none;
}

}  // namespace

const std::vector<OptionHelp>& redis_option_help() {
  static const auto options = [] {
    auto all = server_option_help("redis", redis_port);
    all.insert(all.end(),
               {{"redis.database", "number of the database", "0"},
                {"redis.index",
                 "index for scans: ycsb (the sorted set of YCSB's binding, by hash), ordered (the same, by key)"
                 " or none (no sorted set; scans fail)",
                 "ycsb"},
                {"redis.configure", "set appendonly and appendfsync of the server for the durability class", "false"},
                {"redis.wait_replicas", "replicas that must confirm a write before it is acknowledged (WAIT)", "0"},
                {"redis.wait_timeout_ms", "time limit for their confirmation; after it the write fails", "1000"}});
    return all;
  }();
  return options;
}

RedisSettings redis_settings(const Properties& properties) {
  refuse_unknown_options(properties, "redis", redis_option_help());
  RedisSettings settings;
  settings.server = server_options(properties, "redis", redis_port);
  settings.database = bounded_option(properties, "redis.database", 0, 0, 1'000'000);
  settings.index = index_of(properties);
  settings.configure = properties.get_bool("redis.configure", false);
  settings.wait_replicas = bounded_option(properties, "redis.wait_replicas", 0, 0, 1000);
  settings.wait_timeout_ms = bounded_option(properties, "redis.wait_timeout_ms", 1000, 1, wait_timeout_ms_max);
  const bool waits = settings.wait_replicas > 0 || properties.has("redis.wait_timeout_ms");
  if (waits && settings.wait_timeout_ms >= settings.server.timeout_ms) {
    throw UsageError(fmt::format(
        "redis.wait_timeout_ms ({}{}) must be below redis.timeout_ms ({}); raise redis.timeout_ms or set both",
        properties.has("redis.wait_timeout_ms") ? "" : "default ", settings.wait_timeout_ms,
        settings.server.timeout_ms));
  }
#ifndef EDGEJOULE_OPENSSL
  if (settings.server.tls) {
    throw UsageError(
        "redis.tls=true: this build has no TLS; install libssl-dev, then `cmake --preset release` and build");
  }
#endif
  return settings;
}

}  // namespace edgejoule::driver
