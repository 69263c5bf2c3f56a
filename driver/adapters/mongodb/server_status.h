// What a server says of itself: buildInfo, serverStatus, getCmdLineOpts.
#pragma once

#include <bson/bson.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "adapters/server/checkpoint_events.h"

namespace edgejoule::driver {

struct MongoCheckpoints : Checkpoints {
  bool running = false;
};

// What the server does not tell is absent.
struct MongoStatus {
  std::string process;
  std::optional<long> pid;
  std::optional<std::uint64_t> uptime_ms;
  std::optional<std::string> engine;
  std::optional<bool> is_persistent;
  std::optional<MongoCheckpoints> checkpoints;
  std::optional<std::uint64_t> journal_writes;
  std::optional<std::uint64_t> journal_bytes;
  std::optional<std::uint64_t> journal_syncs;
  std::map<std::string, std::uint64_t> operations;  // opcounters, of all clients
  std::map<std::string, std::string> figures;       // memory, cache, network
};

[[nodiscard]] MongoStatus mongo_status(const bson_t* server_status);

// mongo-java-server and its kind: what they answer like MongoDB says nothing of MongoDB.
[[nodiscard]] bool is_stand_in(const bson_t* build_info, const MongoStatus& status);

// "7.0.14"; of a stand-in, that it is one and which.
[[nodiscard]] std::string mongo_version(const bson_t* build_info, const MongoStatus& status);

// Settings that weigh on cost and durability, by the server's names, from getCmdLineOpts.
[[nodiscard]] std::map<std::string, std::string> mongo_configuration(const bson_t* command_line);

// False: it was told to keep none (before 6.1, where that was possible).
[[nodiscard]] bool keeps_journal(const bson_t* command_line);

}  // namespace edgejoule::driver
