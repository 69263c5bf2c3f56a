// Reads a Redis server's description of itself: INFO and CONFIG GET, as maps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "connection.h"

namespace edgejoule::driver {

using RedisInfo = std::map<std::string, std::string, std::less<>>;

// Throws LostServer, and DatabaseError if the server refuses.
[[nodiscard]] RedisInfo redis_info(RedisConnection& connection, std::string_view section);

// nullopt: the server does not report it (renamed commands, missing rights).
[[nodiscard]] std::optional<std::string> redis_config(RedisConnection& connection, std::string_view name);

[[nodiscard]] std::optional<std::int64_t> number_of(const RedisInfo& info, std::string_view name);
[[nodiscard]] std::optional<double> seconds_of(const RedisInfo& info, std::string_view name);

// Calls by command, from section commandstats, without the prefix "cmdstat_".
[[nodiscard]] std::map<std::string, std::uint64_t> redis_calls(const RedisInfo& commandstats);

}  // namespace edgejoule::driver
