// What a Redis server keeps, and when: the promise that follows from it, and what it does for it on its own account.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server_info.h"

namespace edgejoule::driver {

struct RedisPersistence {
  std::optional<std::string> appendonly;  // nullopt: the server does not tell
  std::optional<std::string> appendfsync;
  std::optional<std::string> save;

  [[nodiscard]] bool logs() const { return appendonly == "yes"; }
  [[nodiscard]] bool snapshots() const { return save && !save->empty(); }
};

[[nodiscard]] RedisPersistence persistence_of(RedisConnection& connection);

// Sets what the class asks for, and waits for the log that it begins. Throws DatabaseError.
void configure_persistence(RedisConnection& connection, Durability durability, std::uint64_t timeout_ms);

[[nodiscard]] std::string durability_in_words(const RedisPersistence& persistence, const RedisSettings& settings,
                                              Durability durability);

// Snapshots and rewrites of the log, told once each as they end: from what INFO persistence says now and then.
class RedisWork {
 public:
  explicit RedisWork(EventSink sink) : sink_(std::move(sink)) {}

  void look(const RedisInfo& persistence);

 private:
  // One of the two kinds.
  struct Kind {
    const char* running;  // 1 while it is under way
    const char* elapsed;  // s it has taken so far
    const char* count;    // how many there were (Redis 7)
    const char* last;     // s the last one took
    DatabaseEvent::Kind event;
    const char* detail;
    std::optional<std::int64_t> seen = {};
    std::uint64_t begin_ns = 0;  // 0: none is under way
  };
  void look(Kind& kind, const RedisInfo& persistence);

  EventSink sink_;
  Kind snapshot_{"rdb_bgsave_in_progress",   "rdb_current_bgsave_time_sec", "rdb_saves",
                 "rdb_last_bgsave_time_sec", DatabaseEvent::Kind::snapshot, "RDB snapshot"};
  Kind rewrite_{"aof_rewrite_in_progress",   "aof_current_rewrite_time_sec",  "aof_rewrites",
                "aof_last_rewrite_time_sec", DatabaseEvent::Kind::compaction, "AOF rewrite"};
};

}  // namespace edgejoule::driver
