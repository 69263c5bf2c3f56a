#include "persistence.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "system/interruption.h"
#include "system/system.h"

namespace edgejoule::driver {
namespace {

void set_config(RedisConnection& connection, std::string_view name, std::string_view value) {
  const auto reply = connection.ask({"CONFIG", "SET", name, value});
  if (reply->type == REDIS_REPLY_ERROR) {
    throw DatabaseError(
        fmt::format("Redis: CONFIG SET {} {}: {}; set it in the server's configuration, and leave "
                    "redis.configure out",
                    name, value, text_of(*reply)));
  }
}

bool log_is_ready(const RedisInfo& info) {
  return number_of(info, "aof_enabled") == 1 && number_of(info, "aof_rewrite_in_progress") == 0 &&
         number_of(info, "aof_rewrite_scheduled") == 0;
}

std::string promise(const RedisPersistence& persistence, Durability durability) {
  constexpr std::string_view none = "; this is weaker than the class asks for: its promise does not hold";
  if (durability == Durability::none) return "none: no persistence required";
  const bool power = durability == Durability::power;
  const std::string asked = power ? "power: every write is in the log and synced before it is acknowledged"
                                  : "process: every write is in the log before it is acknowledged";
  if (!persistence.appendonly)
    return asked + "; the server does not report its settings, so whether this holds is unknown";
  if (!persistence.logs()) return fmt::format("{}{}", asked, none);
  if (persistence.appendfsync == "always") return asked;
  if (power) return fmt::format("{}{}", asked, none);
  if (persistence.appendfsync == "no") return asked;
  return asked + "; while a sync takes long, writes of up to 2 s may not be";
}

}  // namespace

RedisPersistence persistence_of(RedisConnection& connection) {
  return {redis_config(connection, "appendonly"), redis_config(connection, "appendfsync"),
          redis_config(connection, "save")};
}

void configure_persistence(RedisConnection& connection, Durability durability, std::uint64_t timeout_ms) {
  if (durability == Durability::none) return set_config(connection, "appendonly", "no");
  set_config(connection, "appendfsync", durability == Durability::power ? "always" : "no");
  set_config(connection, "appendonly", "yes");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!log_is_ready(redis_info(connection, "persistence"))) {
    if (std::chrono::steady_clock::now() > deadline || interruption() != 0) {
      throw DatabaseError(
          fmt::format("Redis: the log that redis.configure switched on was not written within {} ms", timeout_ms));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::string durability_description(const RedisPersistence& persistence, const RedisSettings& settings,
                                   Durability durability) {
  const auto setting = [](const std::optional<std::string>& value) { return value.value_or("unknown"); };
  auto description =
      fmt::format("{}; appendonly={}, appendfsync={}, save=\"{}\"", promise(persistence, durability),
                  setting(persistence.appendonly), setting(persistence.appendfsync), setting(persistence.save));
  description += settings.configure ? "; set by redis.configure" : "; set on the server";
  if (settings.wait_replicas > 0) description += fmt::format("; {} replicas confirm it (WAIT)", settings.wait_replicas);
  return description;
}

void RedisWork::observe(const RedisInfo& persistence) {
  observe(snapshot_, persistence);
  observe(rewrite_, persistence);
}

void RedisWork::observe(Kind& kind, const RedisInfo& persistence) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  const auto now_ns = now_monotonic_ns();
  const auto count = number_of(persistence, kind.count);
  const bool ended = kind.seen && count && *count > *kind.seen;
  if (ended && sink_) {
    // Work that began and ended between two polls is known only by the duration that Redis reports, in whole seconds.
    const auto duration_s = number_of(persistence, kind.last).value_or(-1);
    const bool watched = kind.begin_ns != 0;
    const auto duration_ns = watched          ? static_cast<std::int64_t>(now_ns - kind.begin_ns)
                             : duration_s > 0 ? duration_s * second_ns
                                              : -1;
    const auto begin_ns =
        watched ? kind.begin_ns : now_ns - static_cast<std::uint64_t>(std::max<std::int64_t>(duration_ns, 0));
    sink_({kind.event, begin_ns, duration_ns, -1, -1,
           fmt::format("{}{}", kind.detail,
                       watched ? ", observed while it ran" : ", began and ended between two queries")});
  }
  kind.seen = count;
  const bool running = number_of(persistence, kind.running) == 1;
  if (!running) {
    kind.begin_ns = 0;
  } else if (kind.begin_ns == 0) {
    const auto elapsed_s = std::max<std::int64_t>(number_of(persistence, kind.elapsed).value_or(0), 0);
    kind.begin_ns = now_ns - static_cast<std::uint64_t>(elapsed_s * second_ns);
  }
}

}  // namespace edgejoule::driver
