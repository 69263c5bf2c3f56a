// A Redis server's persistence: its settings, the durability class that follows from them, and its background work.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server_info.h"

namespace edgejoule::driver {

struct RedisPersistence {
  std::optional<std::string> appendonly;  // nullopt: not reported
  std::optional<std::string> appendfsync;
  std::optional<std::string> save;

  [[nodiscard]] bool logs() const { return appendonly == "yes"; }
  [[nodiscard]] bool snapshots() const { return save && !save->empty(); }
};

[[nodiscard]] RedisPersistence persistence_of(RedisConnection& connection);

// Applies the settings of the class, and waits for the log that they start. Throws DatabaseError.
void configure_persistence(RedisConnection& connection, Durability durability, std::uint64_t timeout_ms);

[[nodiscard]] std::string durability_description(const RedisPersistence& persistence, const RedisSettings& settings,
                                                 Durability durability);

// Reports each snapshot and log rewrite once, when it ends. It polls INFO persistence.
class RedisWork {
 public:
  explicit RedisWork(EventSink sink) : sink_(std::move(sink)) {}

  void observe(const RedisInfo& persistence);

 private:
  // Names of INFO's fields for one kind of work.
  struct Kind {
    const char* running;  // 1 while it runs
    const char* elapsed;  // s since it began
    const char* count;    // how many have run (Redis 7)
    const char* last;     // s that the last one took
    DatabaseEvent::Kind event;
    const char* detail;
    std::optional<std::int64_t> seen = {};
    std::uint64_t begin_ns = 0;  // 0: none is running
  };
  void observe(Kind& kind, const RedisInfo& persistence);

  EventSink sink_;
  Kind snapshot_{"rdb_bgsave_in_progress",   "rdb_current_bgsave_time_sec", "rdb_saves",
                 "rdb_last_bgsave_time_sec", DatabaseEvent::Kind::snapshot, "RDB snapshot"};
  Kind rewrite_{"aof_rewrite_in_progress",   "aof_current_rewrite_time_sec",  "aof_rewrites",
                "aof_last_rewrite_time_sec", DatabaseEvent::Kind::compaction, "AOF rewrite"};
};

}  // namespace edgejoule::driver
