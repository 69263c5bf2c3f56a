#include "server_status.h"

#include <fmt/format.h>

#include <array>

#include "document.h"

namespace edgejoule::driver {
namespace {

std::optional<std::uint64_t> count_at(const bson_t* document, const std::string& path) {
  const auto number = number_at(document, path.c_str());
  return number && *number >= 0 ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

// Since 8.0 checkpoints are a separate section.
std::optional<MongoCheckpoints> checkpoints_of(const bson_t* status) {
  struct Names {
    const char* count;
    const char* duration;
    const char* running;
  };
  constexpr std::array<Names, 2> all = {
      {{"wiredTiger.checkpoint.total succeed number of checkpoints", "wiredTiger.checkpoint.total time (msecs)",
        "wiredTiger.checkpoint.progress state"},
       {"wiredTiger.transaction.transaction checkpoints",
        "wiredTiger.transaction.transaction checkpoint total time (msecs)",
        "wiredTiger.transaction.transaction checkpoint currently running"}}};
  for (const auto& names : all) {
    const auto count = count_at(status, names.count);
    const auto duration_ms = count_at(status, names.duration);
    if (count && duration_ms) {
      return MongoCheckpoints{{*count, *duration_ms, {}}, count_at(status, names.running).value_or(0) != 0};
    }
  }
  return std::nullopt;
}

// The program's name in a path such as /usr/bin/mongod.
std::string program_name(const std::string& process) {
  const auto slash = process.rfind('/');
  return slash == std::string::npos ? process : process.substr(slash + 1);
}

}  // namespace

MongoStatus mongo_status(const bson_t* server_status) {
  MongoStatus status;
  status.process = program_name(text_at(server_status, "process").value_or(""));
  if (const auto pid = number_at(server_status, "pid")) status.pid = static_cast<long>(*pid);
  status.uptime_ms = count_at(server_status, "uptimeMillis");
  status.engine = text_at(server_status, "storageEngine.name");
  status.is_persistent = truth_at(server_status, "storageEngine.persistent");
  status.checkpoints = checkpoints_of(server_status);
  status.journal_writes = count_at(server_status, "wiredTiger.log.log write operations");
  status.journal_bytes = count_at(server_status, "wiredTiger.log.log bytes written");
  status.journal_syncs = count_at(server_status, "wiredTiger.log.log sync operations");
  for (const char* const name : {"insert", "query", "update", "delete", "getmore", "command"}) {
    if (const auto count = count_at(server_status, fmt::format("opcounters.{}", name)))
      status.operations[name] = *count;
  }
  for (const char* const path :
       {"mem.resident", "connections.current", "network.bytesIn", "network.bytesOut", "network.numRequests",
        "wiredTiger.cache.maximum bytes configured", "wiredTiger.cache.bytes currently in the cache",
        "wiredTiger.cache.tracked dirty bytes in the cache", "wiredTiger.cache.bytes read into cache",
        "wiredTiger.cache.bytes written from cache"}) {
    if (const auto count = count_at(server_status, path)) status.figures[path] = std::to_string(*count);
  }
  return status;
}

bool is_stand_in(const bson_t* build_info, const MongoStatus& status) {
  if (text_at(build_info, "standIn")) return true;
  if (!status.process.empty()) return status.process != "mongod" && status.process != "mongos";
  return !text_at(build_info, "gitVersion");  // for a user without the right to read the status
}

std::string mongo_version(const bson_t* build_info, const MongoStatus& status) {
  const auto version = text_at(build_info, "version").value_or("unknown");
  if (!is_stand_in(build_info, status)) return version;
  const auto name = text_at(build_info, "standIn");
  if (name) return fmt::format("stand-in: {}, not MongoDB", *name);
  return fmt::format("stand-in: a {} process that answers as {}, not MongoDB",
                     status.process.empty() ? "nameless" : status.process, version);
}

std::map<std::string, std::string> mongo_configuration(const bson_t* command_line) {
  std::map<std::string, std::string> found;
  const std::string parsed = "parsed.";
  for (const char* const name :
       {"storage.dbPath", "storage.engine", "storage.wiredTiger.engineConfig.journalCompressor",
        "storage.wiredTiger.collectionConfig.blockCompressor", "replication.replSetName"}) {
    if (const auto text = text_at(command_line, (parsed + name).c_str())) found[name] = *text;
  }
  for (const char* const name : {"storage.journal.commitIntervalMs", "storage.syncPeriodSecs"}) {
    if (const auto count = count_at(command_line, parsed + name)) found[name] = std::to_string(*count);
  }
  if (!keeps_journal(command_line)) found["storage.journal.enabled"] = "false";
  return found;
}

bool keeps_journal(const bson_t* command_line) {
  return truth_at(command_line, "parsed.storage.journal.enabled").value_or(true);
}

}  // namespace edgejoule::driver
