// Reads a server's description of itself: buildInfo, serverStatus, getCmdLineOpts.
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

// A value that the server does not report is absent.
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

// True for servers that imitate MongoDB, such as mongo-java-server. Their figures are not MongoDB's.
[[nodiscard]] bool is_stand_in(const bson_t* build_info, const MongoStatus& status);

// "7.0.14". For an imitation, says so and names it.
[[nodiscard]] std::string mongo_version(const bson_t* build_info, const MongoStatus& status);

// Settings that affect cost and durability, under the server's names, from getCmdLineOpts.
[[nodiscard]] std::map<std::string, std::string> mongo_configuration(const bson_t* command_line);

// False: the server was started without a journal (possible before 6.1).
[[nodiscard]] bool keeps_journal(const bson_t* command_line);

}  // namespace edgejoule::driver
