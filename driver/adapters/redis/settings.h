// What the options ask of Redis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "adapters/server/server_options.h"

namespace edgejoule::driver {

// How scans find their keys, and what an insert pays for it.
enum class RedisIndex : std::uint8_t {
  ycsb,     // sorted set _indices, score: the key's hash; scans go by the hash
  ordered,  // the same set, all scores 0; scans go by the key
  none,     // no set, no scans
};

struct RedisSettings {
  ServerOptions server;
  std::uint64_t database = 0;
  RedisIndex index = RedisIndex::ycsb;
  bool configure = false;
  std::uint64_t wait_replicas = 0;
  std::uint64_t wait_timeout_ms = 0;
};

[[nodiscard]] const std::vector<OptionHelp>& redis_option_help();

// Throws UsageError.
[[nodiscard]] RedisSettings redis_settings(const Properties& properties);

}  // namespace edgejoule::driver
