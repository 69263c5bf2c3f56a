// MongoDB through libmongoc.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "adapters/registry.h"
#include "adapters/server/server_process.h"
#include "adapters/server/server_watch.h"
#include "contract/properties.h"
#include "mongodb_session.h"
#include "server_status.h"
#include "system/interruption.h"

namespace edgejoule::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds poll_period{20};

class Mongo final : public Database {
 public:
  void open(const Properties& properties, Durability durability, bool create, EventSink sink) override;
  [[nodiscard]] std::string close() override;
  [[nodiscard]] std::unique_ptr<Session> session() override {
    return std::make_unique<MongoSession>(settings_, client_);
  }
  Status flush() override;
  [[nodiscard]] std::string flush_error() const override { return flush_error_; }
  Settled settle(std::uint64_t timeout_ns) override;
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] std::map<std::string, std::string> options() const override { return options_; }
  [[nodiscard]] std::string durability_how() const override;
  [[nodiscard]] std::vector<Component> components() const override;
  [[nodiscard]] std::map<std::string, std::string> stats() const override;
  [[nodiscard]] std::string path() const override { return data_path_; }
  [[nodiscard]] std::optional<std::uint64_t> server_cpu_ns() const override;
  [[nodiscard]] std::optional<std::uint64_t> record_count(std::uint64_t timeout_ns) const override;
  [[nodiscard]] std::vector<std::string> incidents() const override;

 private:
  // Sends a command on the control connection, which no session uses, and reconnects once if it broke. Throws
  // DatabaseError, or Refused if the server refuses the command.
  struct Refused : DatabaseError {
    using DatabaseError::DatabaseError;
  };
  void ask(const std::string& database, const char* command, MongoDocument& reply) const;
  [[nodiscard]] MongoStatus status() const;
  [[nodiscard]] bool was_restarted(const MongoStatus& now) const;
  [[nodiscard]] MongoSettings patient_for(std::uint64_t timeout_ns) const;

  void check_contents(bool create);
  void read_options(const MongoDocument& build_info, const MongoStatus& now);
  void poll_checkpoints();
  void tell_checkpoints(const MongoStatus& now);

  MongoSettings settings_;
  Durability durability_ = Durability::process;
  ServerCounters client_;
  mutable std::mutex mutex_;  // for control_ and events_, which the watch thread uses, too
  mutable std::unique_ptr<MongoConnection> control_;
  std::unique_ptr<ServerWatch> watch_;
  CheckpointEvents events_;
  MongoStatus at_open_;
  std::string version_;
  bool is_stand_in_ = false;
  bool knows_configuration_ = false;
  bool keeps_journal_ = true;
  std::string data_path_;
  std::map<std::string, std::string> options_;
  std::string flush_error_;
};

void Mongo::ask(const std::string& database, const char* command, MongoDocument& reply) const {
  const std::lock_guard lock(mutex_);
  MongoDocument question;
  bson_append_int32(question.get(), command, -1, 1);
  MongoRefusal refusal;
  bool done = false;
  try {
    done = control_->ask(database, question.get(), reply, refusal);
  } catch (const LostServer&) {
    control_->connect();  // the server may be back as another process
    try {
      done = control_->ask(database, question.get(), reply, refusal);
    } catch (const LostServer& lost) {
      throw DatabaseError(lost.what());
    }
  }
  if (done) return;
  throw Refused(fmt::format("mongodb: server at {}: {}: {} (code {})", settings_.address, command, refusal.message,
                            refusal.code));
}

MongoStatus Mongo::status() const {
  MongoDocument reply;
  ask("admin", "serverStatus", reply);
  return mongo_status(reply.get());
}

void Mongo::open(const Properties& properties, Durability durability, bool create, EventSink sink) {
  settings_ = mongo_settings(properties, durability);
  durability_ = durability;
  control_ = std::make_unique<MongoConnection>(settings_);
  connect_when_ready(settings_.server.reconnect_ms, [this] { control_->connect(); });
  check_contents(create);
  MongoDocument build_info;
  ask("admin", "buildInfo", build_info);
  try {
    at_open_ = status();
  } catch (const Refused&) {
    at_open_ = {};  // the user may lack the right; options() says so
  }
  version_ = mongo_version(build_info.get(), at_open_);
  is_stand_in_ = is_stand_in(build_info.get(), at_open_);
  read_options(build_info, at_open_);
  events_.begin(std::move(sink), at_open_.checkpoints.value_or(MongoCheckpoints{}));
  if (at_open_.checkpoints)
    watch_ = std::make_unique<ServerWatch>(settings_.server.watch_ms, [this] { poll_checkpoints(); });
}

void Mongo::check_contents(bool create) {
  MongoDocuments found;
  MongoDocument everything;
  MongoDocument one;
  append(one.get(), "limit", std::int64_t{1});
  MongoRefusal refusal;
  try {
    if (!control_->find(everything.get(), one.get(), found, refusal)) {
      throw DatabaseError(fmt::format("mongodb: server at {}: {}.{}: {}", settings_.address, settings_.database,
                                      settings_.collection, refusal.message));
    }
  } catch (const LostServer& lost) {
    throw DatabaseError(lost.what());
  }
  if (found.empty()) {
    if (create) return;
    throw DatabaseError(fmt::format(
        "mongodb: server at {}: collection {}.{} is empty; load one first (edgejoule-driver load -db mongodb "
        "...)",
        settings_.address, settings_.database, settings_.collection));
  }
  bson_iter_t key;
  const bool has_key = bson_iter_init_find(&key, found.front()->get(), "_id");
  const bool fits = has_key && (settings_.key_type == MongoKeyType::text      ? BSON_ITER_HOLDS_UTF8(&key)
                                : settings_.key_type == MongoKeyType::integer ? BSON_ITER_HOLDS_INT(&key)
                                                                              : BSON_ITER_HOLDS_BINARY(&key));
  if (fits) return;
  throw DatabaseError(
      fmt::format("mongodb: server at {}: collection {}.{} was loaded by a workload of another kind; set keytype as it "
                  "was at load, "
                  "or choose another by mongodb.collection",
                  settings_.address, settings_.database, settings_.collection));
}

void Mongo::read_options(const MongoDocument& build_info, const MongoStatus& now) {
  options_ = shown(settings_);
  if (is_stand_in_) {
    options_["stand-in"] = "true";
    options_["answers as"] = text_at(build_info.get(), "version").value_or("unknown");
  }
  if (now.process.empty()) options_["serverStatus"] = "not permitted to this user: no statistics, events, CPU time";
  if (now.engine) options_["storageEngine"] = *now.engine;
  const auto cache = now.figures.find("wiredTiger.cache.maximum bytes configured");
  if (cache != now.figures.end()) options_["cache_bytes"] = cache->second;
  MongoDocument command_line;
  try {
    ask("admin", "getCmdLineOpts", command_line);
  } catch (const Refused&) {
    return;
  }
  knows_configuration_ = true;
  keeps_journal_ = keeps_journal(command_line.get());
  for (const auto& [name, value] : mongo_configuration(command_line.get())) options_[name] = value;
  const auto folder = options_.find("storage.dbPath");
  std::error_code failure;
  if (settings_.server.is_local() && folder != options_.end() &&
      std::filesystem::is_directory(folder->second, failure)) {
    data_path_ = folder->second;
  }
}

std::string Mongo::durability_how() const {
  std::string how(name_of(durability_));
  if (is_stand_in_) {
    how += ": a stand-in, which has no journal";
  } else {
    how += settings_.journal ? ": the journal is synced before each write is acknowledged"
                             : ": acknowledged in memory; the journal is written and synced some 100 ms later";
  }
  how += fmt::format("; w={}, j={}{}", settings_.w, settings_.journal, is_stand_in_ ? ", which it ignores" : "");
  if (settings_.journal_set) how += "; j was set explicitly";
  if (!keeps_journal_) {
    how += "; the server keeps no journal (storage.journal.enabled=false)";
  } else if (!at_open_.is_persistent.value_or(true)) {
    how += fmt::format("; the server's storage engine {} keeps nothing on storage", at_open_.engine.value_or(""));
  } else if (!knows_configuration_) {
    how += "; this user may not query whether the server keeps a journal";
  }
  const bool journaled = settings_.journal && keeps_journal_ && at_open_.is_persistent.value_or(true) && !is_stand_in_;
  if (durability_ != Durability::none && !journaled) {
    how += "; this is weaker than the class asks for: its promise does not hold";
  }
  return how;
}

void Mongo::poll_checkpoints() {
  try {
    tell_checkpoints(status());
  } catch (const std::runtime_error&) {
    // The server is away; the sessions report it.
  }
}

void Mongo::tell_checkpoints(const MongoStatus& now) {
  if (!now.checkpoints) return;
  const std::lock_guard lock(mutex_);
  events_.observe(*now.checkpoints);
}

std::string Mongo::close() {
  watch_.reset();
  control_.reset();
  return {};
}

std::string Mongo::version() const {
  return version_.empty() ? fmt::format("libmongoc {}", mongoc_get_version()) : version_;
}

Status Mongo::flush() {
  flush_error_.clear();
  try {
    MongoDocument reply;
    ask("admin", "fsync", reply);
  } catch (const DatabaseError& failure) {
    flush_error_ = failure.what();
    return Status::error;
  }
  return Status::ok;
}

// Settings for work of unlimited duration: the time limit of an operation does not apply to it.
MongoSettings Mongo::patient_for(std::uint64_t timeout_ns) const {
  auto patient = settings_;
  patient.uri.reset(mongoc_uri_copy(settings_.uri.get()), mongoc_uri_destroy);
  patient.server.timeout_ms = std::clamp<std::uint64_t>(timeout_ns / 1'000'000, 1, 86'400'000);
  mongoc_uri_set_option_as_int32(patient.uri.get(), MONGOC_URI_SOCKETTIMEOUTMS,
                                 static_cast<std::int32_t>(patient.server.timeout_ms));
  return patient;
}

Settled Mongo::settle(std::uint64_t timeout_ns) {
  const auto deadline = Clock::now() + std::chrono::nanoseconds(timeout_ns);
  const auto patient = patient_for(timeout_ns);
  MongoConnection connection(patient);
  connection.connect();
  MongoDocument question;
  MongoDocument reply;
  MongoRefusal refusal;
  bson_append_int32(question.get(), "fsync", -1, 1);
  try {
    if (!connection.ask("admin", question.get(), reply, refusal)) {
      return {false, fmt::format("fsync: {} (code {}); it needs the role clusterAdmin or hostManager", refusal.message,
                                 refusal.code)};
    }
  } catch (const LostServer& lost) {
    if (lost.timed_out()) return {false, "fsync did not finish within the time limit"};
    throw DatabaseError(lost.what());
  }
  for (;;) {
    MongoStatus now;
    try {
      now = status();
    } catch (const Refused&) {
      return {true, "fsync returned; this user may not query whether a checkpoint runs"};
    }
    tell_checkpoints(now);
    if (!now.checkpoints) return {true, "fsync returned; the server does not report checkpoints"};
    if (!now.checkpoints->running) return {true, "fsync returned; no checkpoint running"};
    if (Clock::now() >= deadline || interruption() != 0) return {false, "a checkpoint ran until the time limit"};
    std::this_thread::sleep_for(poll_period);
  }
}

std::vector<Component> Mongo::components() const {
  Component checkpoint{
      .name = "checkpoint", .count = {}, .duration_ns = {}, .read_bytes = {}, .write_bytes = {}, .syncs = {}};
  Component wal{.name = "wal", .count = {}, .duration_ns = {}, .read_bytes = {}, .write_bytes = {}, .syncs = {}};
  if (at_open_.process.empty()) return {checkpoint, wal};
  const auto now = status();
  if (now.checkpoints) {
    checkpoint.count = now.checkpoints->count;
    checkpoint.duration_ns = now.checkpoints->duration_ms * 1'000'000;
  }
  wal.count = now.journal_writes;
  wal.write_bytes = now.journal_bytes;
  wal.syncs = now.journal_syncs;
  return {checkpoint, wal};
}

bool Mongo::was_restarted(const MongoStatus& now) const {
  return now.pid != at_open_.pid || now.uptime_ms < at_open_.uptime_ms;
}

std::vector<std::string> Mongo::incidents() const {
  if (at_open_.process.empty() || !was_restarted(status())) return {};
  return {server_was_restarted};
}

// Counts every document, because the server's stored count may be wrong after a crash.
std::optional<std::uint64_t> Mongo::record_count(std::uint64_t timeout_ns) const {
  const auto patient = patient_for(timeout_ns);
  MongoConnection connection(patient);
  connection.connect();
  MongoDocument question;
  BCON_APPEND(question.get(), "aggregate", BCON_UTF8(settings_.collection.c_str()), "pipeline", "[", "{", "$group", "{",
              "_id", BCON_NULL, "records", "{", "$sum", BCON_INT32(1), "}", "}", "}", "]", "cursor", "{", "}");
  MongoDocument reply;
  MongoRefusal refusal;
  try {
    if (!connection.ask(settings_.database, question.get(), reply, refusal)) {
      throw Refused(fmt::format("mongodb: server at {}: counting {}.{}: {} (code {})", settings_.address,
                                settings_.database, settings_.collection, refusal.message, refusal.code));
    }
  } catch (const LostServer& lost) {
    throw DatabaseError(lost.what());
  }
  return static_cast<std::uint64_t>(number_at(reply.get(), "cursor.firstBatch.0.records").value_or(0));
}

std::map<std::string, std::string> Mongo::stats() const {
  std::map<std::string, std::string> stats;
  client_.add_to(stats);
  if (!control_ || at_open_.process.empty()) return stats;
  const auto now = status();
  // A restarted server has new counters, so a difference would not describe this run.
  if (!was_restarted(now)) {
    for (const auto& [name, count] : now.operations) {
      const auto before = at_open_.operations.find(name);
      const auto since = count - (before == at_open_.operations.end() ? 0 : before->second);
      stats["opcounters." + name] = std::to_string(since);
    }
  } else {
    stats["server.restarted"] = "true";
  }
  stats.insert(now.figures.begin(), now.figures.end());
  return stats;
}

std::optional<std::uint64_t> Mongo::server_cpu_ns() const {
  if (!settings_.server.is_local() || !at_open_.pid) return std::nullopt;
  return process_tree_cpu_ns(*at_open_.pid, at_open_.process);
}

}  // namespace

AdapterInfo mongodb_adapter() {
  return {"mongodb", "MongoDB: documents in B-trees (WiredTiger), a server", mongo_option_help(),
          [] { return std::make_unique<Mongo>(); }};
}

}  // namespace edgejoule::driver
