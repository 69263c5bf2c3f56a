#include "server_info.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <sstream>

namespace edgejoule::driver {

RedisInfo redis_info(RedisConnection& connection, std::string_view section) {
  const auto reply = connection.ask({"INFO", section});
  if (reply->type == REDIS_REPLY_ERROR) {
    throw DatabaseError(fmt::format("Redis: INFO {}: {}", section, text_of(*reply)));
  }
  RedisInfo info;
  std::istringstream lines{std::string(text_of(*reply))};
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const auto colon = line.find(':');
    if (colon != std::string::npos && !line.starts_with('#')) info[line.substr(0, colon)] = line.substr(colon + 1);
  }
  return info;
}

std::optional<std::string> redis_config(RedisConnection& connection, std::string_view name) {
  const auto reply = connection.ask({"CONFIG", "GET", name});
  if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) return std::nullopt;
  return std::string(text_of(*reply->element[1]));
}

std::optional<std::int64_t> number_of(const RedisInfo& info, std::string_view name) {
  const auto found = info.find(name);
  if (found == info.end()) return std::nullopt;
  const auto& text = found->second;
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<double> seconds_of(const RedisInfo& info, std::string_view name) {
  const auto found = info.find(name);
  if (found == info.end() || found->second.empty()) return std::nullopt;
  char* end = nullptr;
  const double seconds = std::strtod(found->second.c_str(), &end);
  return *end == '\0' ? std::optional(seconds) : std::nullopt;
}

std::map<std::string, std::uint64_t> redis_calls(const RedisInfo& commandstats) {
  constexpr std::string_view prefix = "cmdstat_";
  constexpr std::string_view calls = "calls=";
  std::map<std::string, std::uint64_t> all;
  for (const auto& [name, text] : commandstats) {
    const auto begin = text.find(calls);
    if (!name.starts_with(prefix) || begin == std::string::npos) continue;
    all[name.substr(prefix.size())] = std::strtoull(text.c_str() + begin + calls.size(), nullptr, 10);
  }
  return all;
}

}  // namespace edgejoule::driver
