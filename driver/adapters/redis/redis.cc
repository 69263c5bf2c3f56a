// Redis through hiredis.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <thread>

#include "adapters/registry.h"
#include "adapters/server/server_watch.h"
#include "contract/properties.h"
#include "persistence.h"
#include "redis_session.h"
#include "system/interruption.h"
#include "system/system.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds poll_period{20};

class Redis final : public Database {
 public:
  void open(const Properties& properties, Durability durability, bool create, EventSink sink) override;
  [[nodiscard]] std::string close() override;
  [[nodiscard]] std::unique_ptr<Session> session() override {
    return std::make_unique<RedisSession>(settings_, counters_);
  }
  Status flush() override;
  [[nodiscard]] std::string flush_error() const override { return flush_error_; }
  Settled settle(std::uint64_t timeout_ns) override;
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] std::map<std::string, std::string> options() const override { return options_; }
  [[nodiscard]] std::string durability_how() const override {
    return durability_description(persistence_, settings_, durability_);
  }
  [[nodiscard]] std::vector<Component> components() const override;
  [[nodiscard]] std::map<std::string, std::string> stats() const override;
  [[nodiscard]] std::string path() const override { return data_path_; }
  [[nodiscard]] std::optional<std::uint64_t> server_cpu_ns() const override;
  [[nodiscard]] std::optional<std::uint64_t> record_count(std::uint64_t timeout_ns) const override;
  [[nodiscard]] bool insert_replaces() const override { return true; }
  [[nodiscard]] std::vector<std::string> incidents() const override;

 private:
  // Sends a question on the control connection, which no session uses, and reconnects once if it broke. Throws
  // DatabaseError. If a reconnection has just failed, it throws at once, so that many questions do not wait in turn.
  template <typename Question>
  auto asked(Question question) const {
    const std::lock_guard lock(mutex_);
    try {
      return question(*control_);
    } catch (const LostServer&) {
      reconnect();
    }
    try {
      return question(*control_);
    } catch (const LostServer& lost) {
      throw DatabaseError(lost.what());
    }
  }
  [[nodiscard]] RedisInfo info(std::string_view section) const {
    return asked([section](RedisConnection& connection) { return redis_info(connection, section); });
  }

  void reconnect() const;
  void check_contents(bool create);
  void check_index(long long keys) const;
  void read_options();
  void poll_persistence();
  bool sync_log(std::string& how) const;
  bool save_snapshot(Clock::time_point deadline);
  bool idle_until(Clock::time_point deadline);
  [[nodiscard]] bool same_server(const RedisInfo& server) const;
  [[nodiscard]] std::int64_t evicted_since_open() const;

  RedisSettings settings_;
  Durability durability_ = Durability::process;
  ServerCounters counters_;
  mutable std::mutex mutex_;  // for control_ and work_, which the watch thread uses, too
  mutable std::unique_ptr<RedisConnection> control_;
  mutable Clock::time_point away_until_;  // no attempt to connect before this time
  mutable std::string away_message_;
  std::unique_ptr<RedisWork> work_;
  std::unique_ptr<ServerWatch> watch_;
  RedisPersistence persistence_;
  std::string version_;
  std::string run_id_;
  std::string data_path_;  // of the log or the snapshot, if the server is on this machine
  std::string log_folder_;
  std::map<std::string, std::string> options_;
  std::map<std::string, std::uint64_t> calls_at_open_;
  std::int64_t evicted_at_open_ = 0;
  std::string flush_error_;
};

void Redis::open(const Properties& properties, Durability durability, bool create, EventSink sink) {
  settings_ = redis_settings(properties);
  durability_ = durability;
  control_ = std::make_unique<RedisConnection>(settings_);
  connect_when_ready(settings_.server.reconnect_ms, [this] { control_->connect(); });
  const auto server = info("server");
  const auto found = server.find("redis_version");
  version_ = found == server.end() ? "unknown" : found->second;
  run_id_ = server.contains("run_id") ? server.at("run_id") : "";
  if (settings_.configure) {
    asked([this](RedisConnection& connection) {
      configure_persistence(connection, durability_, 6 * settings_.server.timeout_ms);
    });
  }
  check_contents(create);
  read_options();
  calls_at_open_ = redis_calls(info("commandstats"));
  evicted_at_open_ = number_of(info("stats"), "evicted_keys").value_or(0);
  work_ = std::make_unique<RedisWork>(std::move(sink));
  poll_persistence();
  watch_ = std::make_unique<ServerWatch>(settings_.server.watch_ms, [this] { poll_persistence(); });
}

// The server may be back as another process. After a failed attempt, the next one waits as long as the attempt lasted.
void Redis::reconnect() const {
  const auto begin = Clock::now();
  if (begin < away_until_) throw DatabaseError(away_message_);
  try {
    control_->connect(settings_.server.timeout_ms);
  } catch (const DatabaseError& failure) {
    const auto end = Clock::now();
    away_until_ = end + (end - begin);
    away_message_ = failure.what();
    throw;
  }
}

// With an index of another kind, scans would return other records than requested.
void Redis::check_contents(bool create) {
  const auto [records, first, last] = asked([](RedisConnection& connection) {
    const auto score = [&connection](std::string_view place) {
      const auto reply = connection.ask({"ZRANGE", redis_index_key, place, place, "WITHSCORES"});
      if (reply->type == REDIS_REPLY_ERROR) {
        throw DatabaseError(
            fmt::format("Redis: the key {}: {}; the database holds something else: choose another by "
                        "redis.database",
                        redis_index_key, text_of(*reply)));
      }
      return reply->elements == 2 ? std::string(text_of(*reply->element[1])) : std::string();
    };
    return std::tuple(connection.ask({"DBSIZE"})->integer, score("0"), score("-1"));
  });
  if (records == 0 && !create) {
    throw DatabaseError(
        fmt::format("Redis at {}: database {} is empty; load one first (edgejoule-driver load -db redis "
                    "...)",
                    settings_.server.address(), settings_.database));
  }
  if (settings_.index == RedisIndex::none) return;
  if (!create) check_index(records);
  if (first.empty()) return;
  const bool ordered = first == "0" && last == "0";
  if (ordered != (settings_.index == RedisIndex::ordered)) {
    throw DatabaseError(
        fmt::format("Redis at {}: database {} was loaded with redis.index={}; set that value, or load again",
                    settings_.server.address(), settings_.database, ordered ? "ordered" : "ycsb"));
  }
}

// Scans of a missing index return nothing at full speed. So do scans of an index whose records are missing.
void Redis::check_index(long long keys) const {
  const auto indexed = asked([](RedisConnection& connection) {
    return connection.ask({"ZCARD", redis_index_key})->integer;  // 0: no index
  });
  const auto where = fmt::format("Redis at {}: database {}", settings_.server.address(), settings_.database);
  if (indexed == 0) {
    throw DatabaseError(fmt::format(
        "{} has {} keys and no index {} of them: it was loaded with redis.index=none, or the index was evicted; set "
        "redis.index=none where no operation is a scan or an insert, or load again",
        where, keys, redis_index_key));
  }
  if (indexed > keys - 1) {
    throw DatabaseError(
        fmt::format("{} has {} records, and its index {} has {}: records were evicted or removed; load "
                    "again, with a larger maxmemory if it evicts",
                    where, keys - 1, redis_index_key, indexed));
  }
}

void Redis::read_options() {
  options_ = shown(settings_.server);
  asked([this](RedisConnection& connection) {
    persistence_ = persistence_of(connection);
    for (const char* name : {"appendonly", "appendfsync", "save", "no-appendfsync-on-rewrite", "maxmemory",
                             "maxmemory-policy", "io-threads", "rdbcompression", "dir", "dbfilename", "appenddirname",
                             "auto-aof-rewrite-percentage", "hash-max-listpack-entries"}) {
      if (const auto value = redis_config(connection, name)) options_[name] = *value;
    }
  });
  options_["database"] = std::to_string(settings_.database);
  options_["index"] = settings_.index == RedisIndex::ycsb      ? "ycsb"
                      : settings_.index == RedisIndex::ordered ? "ordered"
                                                               : "none";
  std::error_code failure;
  if (!settings_.server.is_local() || !options_.contains("dir") || !fs::is_directory(options_["dir"], failure)) return;
  const fs::path folder = options_["dir"];
  if (persistence_.logs() && options_.contains("appenddirname")) {
    data_path_ = log_folder_ = (folder / options_["appenddirname"]).string();
  } else if (options_.contains("dbfilename")) {
    data_path_ = (folder / options_["dbfilename"]).string();
  }
}

void Redis::poll_persistence() {
  try {
    const auto persistence = info("persistence");
    const std::lock_guard lock(mutex_);
    work_->observe(persistence);
  } catch (const std::runtime_error&) {
    // The server is away; the sessions report it.
  }
}

std::string Redis::close() {
  watch_.reset();
  control_.reset();
  return {};
}

std::string Redis::version() const {
  if (!version_.empty()) return version_;
  return fmt::format("hiredis {}.{}.{}", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
}

// Syncs every file of the log through the driver's own descriptors. Returns true if the whole log is on storage.
bool Redis::sync_log(std::string& how) const {
  if (persistence_.appendfsync == "always") {
    how = "every write was synced before it was acknowledged";
    return true;
  }
  std::error_code failure;
  std::size_t synced = 0;
  const auto entries = fs::directory_iterator(log_folder_, failure);
  if (log_folder_.empty() || failure) {
    how = "the log's files are not accessible from here: whether they are synced is unknown";
    return false;
  }
  for (const auto& entry : entries) {
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    const bool done = file >= 0 && fsync(file) == 0;
    if (file >= 0) ::close(file);
    if (!done) {
      how = fmt::format("{} cannot be synced from here", entry.path().string());
      return false;
    }
    ++synced;
  }
  how = fmt::format("{} files of the log synced", synced);
  return synced > 0;
}

Status Redis::flush() {
  flush_error_.clear();
  if (!persistence_.logs()) return Status::ok;  // without a log Redis promises nothing
  if (!sync_log(flush_error_)) return Status::error;
  flush_error_.clear();
  return Status::ok;
}

bool Redis::idle_until(Clock::time_point deadline) {
  for (;;) {
    const auto now = info("persistence");
    {
      const std::lock_guard lock(mutex_);
      work_->observe(now);
    }
    const auto is_zero = [&now](std::string_view name) { return number_of(now, name).value_or(0) == 0; };
    if (is_zero("rdb_bgsave_in_progress") && is_zero("aof_rewrite_in_progress") && is_zero("aof_rewrite_scheduled") &&
        is_zero("aof_pending_rewrite") && is_zero("aof_buffer_length") && is_zero("aof_pending_bio_fsync") &&
        is_zero("loading")) {
      return true;
    }
    if (Clock::now() >= deadline || interruption() != 0) return false;
    std::this_thread::sleep_for(poll_period);
  }
}

// If snapshots are the only persistence, changes since the last snapshot must be saved.
bool Redis::save_snapshot(Clock::time_point deadline) {
  if (number_of(info("persistence"), "rdb_changes_since_last_save") == 0) return true;
  asked([](RedisConnection& connection) {
    const auto reply = connection.ask({"BGSAVE"});
    if (reply->type == REDIS_REPLY_ERROR) throw DatabaseError(fmt::format("Redis: BGSAVE: {}", text_of(*reply)));
  });
  if (!idle_until(deadline)) return false;
  const auto after = info("persistence");
  const auto found = after.find("rdb_last_bgsave_status");
  if (found != after.end() && found->second != "ok") {
    throw DatabaseError("Redis: its snapshot failed: is its disk full? Its log says more");
  }
  return true;
}

Settled Redis::settle(std::uint64_t timeout_ns) {
  const auto deadline = Clock::now() + std::chrono::nanoseconds(timeout_ns);
  if (!idle_until(deadline)) return {false, "Redis: a snapshot or a rewrite of its log ran until the time limit"};
  if (persistence_.logs()) {
    std::string how;
    const bool synced = sync_log(how);
    return {synced, "no snapshot and no rewrite of the log running; " + how};
  }
  if (!persistence_.snapshots()) return {true, "no persistence: nothing is stored, no work is running"};
  if (!save_snapshot(deadline)) return {false, "Redis: its snapshot (BGSAVE) was not written within the time limit"};
  return {true, "BGSAVE: no change since the last snapshot, none running"};
}

bool Redis::same_server(const RedisInfo& server) const {
  const auto found = server.find("run_id");
  return found != server.end() && found->second == run_id_;
}

std::int64_t Redis::evicted_since_open() const {
  const auto evicted = number_of(info("stats"), "evicted_keys").value_or(0);
  return same_server(info("server")) ? evicted - evicted_at_open_ : evicted;
}

std::vector<std::string> Redis::incidents() const {
  std::vector<std::string> found;
  if (!same_server(info("server"))) found.emplace_back(server_was_restarted);
  if (const auto evicted = evicted_since_open(); evicted > 0) {
    const auto setting = [this](const char* name) {
      const auto option = options_.find(name);
      return option == options_.end() ? std::string("unknown") : option->second;
    };
    found.push_back(fmt::format("the server evicted {} keys (maxmemory {}, maxmemory-policy {})", evicted,
                                setting("maxmemory"), setting("maxmemory-policy")));
  }
  return found;
}

// Every key is a record, except the index.
std::optional<std::uint64_t> Redis::record_count(std::uint64_t /*timeout_ns*/) const {
  return asked([](RedisConnection& connection) {
    const auto keys = connection.ask({"DBSIZE"})->integer;
    return static_cast<std::uint64_t>(keys - connection.ask({"EXISTS", redis_index_key})->integer);
  });
}

std::vector<Component> Redis::components() const {
  const auto now = info("persistence");
  const auto counted = [&now](std::string_view name, std::string_view field) {
    Component component{
        .name = std::string(name), .count = {}, .duration_ns = {}, .read_bytes = {}, .write_bytes = {}, .syncs = {}};
    if (const auto count = number_of(now, field)) component.count = static_cast<std::uint64_t>(*count);
    return component;
  };
  return {counted("snapshot", "rdb_saves"), counted("log_rewrite", "aof_rewrites")};
}

std::map<std::string, std::string> Redis::stats() const {
  std::map<std::string, std::string> stats;
  counters_.add_to(stats);
  if (!control_) return stats;
  // A restarted server has new counters, so a difference would not describe this run.
  if (same_server(info("server"))) {
    for (const auto& [command, calls] : redis_calls(info("commandstats"))) {
      const auto before = calls_at_open_.find(command);
      const auto since = calls - (before == calls_at_open_.end() ? 0 : before->second);
      if (since > 0) stats["cmdstat." + command] = std::to_string(since);
    }
  } else {
    stats["server.restarted"] = "true";
  }
  for (const char* section : {"memory", "stats", "persistence", "cpu"}) {
    const auto entries = info(section);
    for (const char* name :
         {"used_memory", "used_memory_peak", "used_memory_rss", "mem_fragmentation_ratio", "total_commands_processed",
          "total_net_input_bytes", "total_net_output_bytes", "keyspace_misses", "rdb_saves", "aof_rewrites",
          "aof_current_size", "aof_delayed_fsync", "used_cpu_user", "used_cpu_sys"}) {
      const auto found = entries.find(name);
      if (found != entries.end()) stats[name] = found->second;
    }
  }
  stats["evicted_keys"] = std::to_string(evicted_since_open());
  const auto records = asked([](RedisConnection& connection) { return connection.ask({"DBSIZE"})->integer; });
  stats["dbsize"] = std::to_string(records);
  return stats;
}

std::optional<std::uint64_t> Redis::server_cpu_ns() const {
  try {
    if (!same_server(info("server"))) return std::nullopt;
    const auto cpu = info("cpu");
    double sum = 0;
    for (const char* name : {"used_cpu_user", "used_cpu_sys", "used_cpu_user_children", "used_cpu_sys_children"}) {
      const auto seconds = seconds_of(cpu, name);
      if (!seconds) return std::nullopt;
      sum += *seconds;
    }
    return static_cast<std::uint64_t>(std::llround(sum * 1e9));
  } catch (const DatabaseError&) {
    return std::nullopt;
  }
}

}  // namespace

AdapterInfo redis_adapter() {
  return {"redis", "Redis: hash tables in memory, a server", redis_option_help(),
          [] { return std::make_unique<Redis>(); }};
}

}  // namespace edgejoule::driver
