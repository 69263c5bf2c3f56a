// The settings for Redis, derived from the options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "adapters/server/server_options.h"

namespace edgejoule::driver {

// How scans locate their keys, and the cost that inserts pay for it.
enum class RedisIndex : std::uint8_t {
  ycsb,     // sorted set _indices with the key's hash as score; scans are in order of the hash
  ordered,  // the same set with all scores 0; scans are in order of the key
  none,     // no set and no scans
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
