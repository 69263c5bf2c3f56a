// PostgreSQL through libpq, with or without Citus.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "adapters/registry.h"
#include "adapters/server/checkpoint_events.h"
#include "adapters/server/server_process.h"
#include "adapters/server/server_watch.h"
#include "contract/properties.h"
#include "postgres_session.h"
#include "system/interruption.h"

namespace edgejoule::driver {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds poll_period{20};
constexpr int version_15 = 150000;
constexpr int version_17 = 170000;
constexpr int version_18 = 180000;

std::uint64_t number(std::string_view text) { return std::strtoull(std::string(text).c_str(), nullptr, 10); }

std::string_view declared(PostgresKeyType type) {
  // Keys are ordered by bytes, as in every other database here, whatever the database's collation.
  return type == PostgresKeyType::text      ? "VARCHAR(255) COLLATE \"C\""
         : type == PostgresKeyType::integer ? "BIGINT"
                                            : "BYTEA";
}

class Postgres final : public Database {
 public:
  void open(const Properties& properties, Durability durability, bool create, EventSink sink) override;
  [[nodiscard]] std::string close() override;
  [[nodiscard]] std::unique_ptr<Session> session() override;
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
  using Row = std::vector<std::string>;

  // Runs a query on the control connection, which no session uses, and reconnects once if it broke. Throws
  // DatabaseError.
  [[nodiscard]] std::vector<Row> rows(const std::string& sql) const;
  [[nodiscard]] Row first_row(const std::string& sql) const;
  [[nodiscard]] std::string value(const std::string& sql) const;
  [[nodiscard]] std::optional<std::string> value_if_allowed(const std::string& sql) const;

  [[nodiscard]] bool was_restarted() const;
  void prepare_table(bool create);
  void distribute() const;
  void check_citus() const;
  void read_options();
  void poll_checkpoints();
  [[nodiscard]] Checkpoints checkpoints() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const;
  [[nodiscard]] std::string calls_sql() const;
  void tell_statistics() const;
  void await_end_of_sessions() const;

  PostgresSettings settings_;
  Durability durability_ = Durability::process;
  ServerCounters client_;
  mutable std::recursive_mutex mutex_;  // for control_ and events_, which the watch thread uses, too
  mutable std::unique_ptr<PostgresConnection> control_;
  std::unique_ptr<ServerWatch> watch_;
  CheckpointEvents events_;
  std::string started_;  // start time of the server
  std::string opened_;   // time of open(), by the server's clock
  std::string version_;
  int version_number_ = 0;
  bool knows_statements_ = false;  // the extension pg_stat_statements is available
  std::optional<long> postmaster_;
  std::string data_path_;
  std::map<std::string, std::string> options_;
  std::map<std::string, std::uint64_t> counters_at_open_;
  mutable std::mutex sessions_mutex_;
  std::vector<PostgresSession*> sessions_;
  std::string flush_error_;
};

std::vector<Postgres::Row> Postgres::rows(const std::string& sql) const {
  const std::lock_guard lock(mutex_);
  PostgresResult result;
  try {
    result = control_->ask(sql);
  } catch (const LostServer&) {
    control_->connect();  // the server may be back
    try {
      result = control_->ask(sql);
    } catch (const LostServer& lost) {
      throw DatabaseError(lost.what());
    }
  }
  if (!is_ok(result.get())) {
    throw DatabaseError(
        fmt::format("PostgreSQL at {}: {}: {}", settings_.server.address(), sql, message_of(result.get())));
  }
  std::vector<Row> all(static_cast<std::size_t>(PQntuples(result.get())));
  for (std::size_t row = 0; row < all.size(); ++row) {
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      all[row].emplace_back(text_at(result.get(), static_cast<int>(row), column));
    }
  }
  return all;
}

Postgres::Row Postgres::first_row(const std::string& sql) const {
  const auto all = rows(sql);
  return all.empty() ? Row{} : all.front();
}

std::string Postgres::value(const std::string& sql) const {
  const auto row = first_row(sql);
  return row.empty() ? std::string() : row.front();
}

std::optional<std::string> Postgres::value_if_allowed(const std::string& sql) const {
  try {
    return value(sql);
  } catch (const DatabaseError&) {
    return std::nullopt;
  }
}

void Postgres::open(const Properties& properties, Durability durability, bool create, EventSink sink) {
  settings_ = postgres_settings(properties, durability);
  durability_ = durability;
  control_ = std::make_unique<PostgresConnection>(settings_);
  connect_when_ready(settings_.server.reconnect_ms, [this] { control_->connect(); });
  version_ = control_->server_version_name();
  version_number_ = control_->server_version();
  started_ = value("SELECT pg_postmaster_start_time()");
  opened_ = value("SELECT now()");
  if (settings_.server.is_local()) postmaster_ = parent_of(control_->backend_pid());
  knows_statements_ = value_if_allowed("SELECT count(*) FROM pg_stat_statements").has_value();
  prepare_table(create);
  read_options();
  events_.begin(std::move(sink), checkpoints());
  counters_at_open_ = counters();
  watch_ = std::make_unique<ServerWatch>(settings_.server.watch_ms, [this] { poll_checkpoints(); });
}

void Postgres::check_citus() const {
  if (!value("SELECT extversion FROM pg_extension WHERE extname='citus'").empty()) return;
  if (value("SELECT name FROM pg_available_extensions WHERE name='citus'").empty()) {
    throw DatabaseError(
        fmt::format("Citus at {}: not available, because the server has no extension citus; install it there and name "
                    "it in shared_preload_libraries, or leave postgres.citus out",
                    settings_.server.address()));
  }
  (void)rows("CREATE EXTENSION citus");
}

void Postgres::distribute() const {
  const auto& citus = *settings_.citus;
  (void)rows(fmt::format("SET citus.shard_count TO {}", citus.shard_count));
  (void)rows(fmt::format("SET citus.shard_replication_factor TO {}", citus.shard_replication_factor));
  (void)rows(fmt::format("SELECT create_distributed_table('{}', '{}')", settings_.table,
                         citus.distribution_column.substr(1, citus.distribution_column.size() - 2)));
}

void Postgres::prepare_table(bool create) {
  if (settings_.citus) check_citus();
  const auto columns = [this] {
    std::map<std::string, std::string> types;
    for (const auto& row : rows(fmt::format("SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE "
                                            "attrelid=to_regclass('{}') AND attnum>0 AND NOT attisdropped",
                                            settings_.table))) {
      types[row[0]] = row[1];
    }
    return types;
  };
  auto there = columns();
  if (there.empty() && !create) {
    throw DatabaseError(
        fmt::format("PostgreSQL at {}: database {} has no table {}; load one first (edgejoule-driver "
                    "load -db postgres ...)",
                    settings_.server.address(), settings_.database, settings_.table));
  }
  if (there.empty()) {
    std::string sql =
        fmt::format("CREATE TABLE {} (ycsb_key {} PRIMARY KEY", settings_.table, declared(settings_.key_type));
    for (const auto& name : settings_.field_names) {
      sql += fmt::format(", {} {}", postgres_column(name), settings_.blob_fields ? "BYTEA" : "TEXT");
    }
    (void)rows(sql + ")");
    if (settings_.citus) distribute();
    there = columns();
  }
  const auto refuse = [this](const std::string& column, const std::string& found) {
    throw DatabaseError(fmt::format(
        "PostgreSQL at {}: table {} was loaded by a workload of another kind: column {} is {}; set keytype, fieldtype, "
        "fieldcount and fieldnameprefix as they were at load, or drop the table",
        settings_.server.address(), settings_.table, column, found.empty() ? "not there" : found));
  };
  const auto is_text = [](const std::string& type) { return type == "text" || type.starts_with("character"); };
  const auto key = there["ycsb_key"];
  const bool key_fits = settings_.key_type == PostgresKeyType::text      ? is_text(key)
                        : settings_.key_type == PostgresKeyType::integer ? key == "bigint"
                                                                         : key == "bytea";
  if (!key_fits) refuse("ycsb_key", key);
  for (const auto& name : settings_.field_names) {
    const auto column = postgres_column(name);
    const auto type = there[column.substr(1, column.size() - 2)];
    if (settings_.blob_fields ? type != "bytea" : !is_text(type)) refuse(column, type);
  }
}

void Postgres::read_options() {
  options_ = shown(settings_.server);
  options_["database"] = settings_.database;
  options_["table"] = settings_.table;
  options_["batch"] = settings_.copies ? "copy" : "insert";
  for (const auto& row :
       rows("SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('synchronous_commit', 'fsync', "
            "'full_page_writes', 'wal_sync_method', 'wal_level', 'shared_buffers', 'max_wal_size', "
            "'checkpoint_timeout', 'autovacuum', 'jit', 'huge_pages', 'synchronous_standby_names', 'lc_collate', "
            "'server_encoding', 'ssl')")) {
    options_[row[0]] = row[1];
  }
  if (settings_.citus) {
    options_["citus"] = value("SELECT extversion FROM pg_extension WHERE extname='citus'");
    options_["distribution_column"] = settings_.citus->distribution_column;
    options_["shard_count"] = std::to_string(settings_.citus->shard_count);
    options_["shard_replication_factor"] = std::to_string(settings_.citus->shard_replication_factor);
  }
  const auto folder = settings_.server.is_local() ? value_if_allowed("SHOW data_directory") : std::nullopt;
  std::error_code failure;
  if (folder && std::filesystem::is_directory(*folder, failure)) data_path_ = *folder;
}

std::string Postgres::durability_how() const {
  constexpr std::string_view broken = "; this is weaker than the class asks for: its promise does not hold";
  const auto setting = [this](const char* name) {
    const auto found = options_.find(name);
    return found == options_.end() ? std::string("unknown") : found->second;
  };
  std::string how = durability_ == Durability::none ? "none: the log is written some time after the acknowledgement"
                    : durability_ == Durability::process
                        ? "process: the log is with the operating system before each commit is acknowledged"
                        : "power: the log is synced before each commit is acknowledged";
  const bool off = setting("synchronous_commit") == "off";
  const bool unsynced = setting("fsync") == "off" || setting("full_page_writes") == "off";
  how += fmt::format("; synchronous_commit={}, fsync={}, full_page_writes={}, wal_sync_method={}",
                     setting("synchronous_commit"), setting("fsync"), setting("full_page_writes"),
                     setting("wal_sync_method"));
  if (settings_.synchronous_commit_set) how += "; postgres.synchronous_commit was set explicitly";
  if ((durability_ != Durability::none && off) || (durability_ == Durability::power && unsynced)) how += broken;
  if (settings_.citus) how += "; these are the coordinator's settings; the workers may differ";
  return how;
}

std::unique_ptr<Session> Postgres::session() {
  auto made = std::make_unique<PostgresSession>(settings_, client_, [this](PostgresSession* ended) {
    const std::lock_guard lock(sessions_mutex_);
    std::erase(sessions_, ended);
  });
  const std::lock_guard lock(sessions_mutex_);
  sessions_.push_back(made.get());
  return made;
}

std::string Postgres::close() {
  watch_.reset();
  control_.reset();
  return {};
}

std::string Postgres::version() const {
  if (!version_.empty()) return version_;
  const int library = PQlibVersion();
  return fmt::format("libpq {}.{}", library / 10000, library % 10000);
}

Status Postgres::flush() {
  flush_error_.clear();
  try {
    // A synchronous commit also makes all earlier log records durable. It must write something to have a log record.
    (void)rows("SET synchronous_commit TO on; SELECT txid_current(); RESET synchronous_commit");
    (void)rows("CHECKPOINT");
  } catch (const DatabaseError& failure) {
    flush_error_ = failure.what();
    return Status::error;
  }
  return Status::ok;
}

Settled Postgres::settle(std::uint64_t timeout_ns) {
  const auto deadline = Clock::now() + std::chrono::nanoseconds(timeout_ns);
  // CHECKPOINT may take long: the time limit of an operation does not apply to it.
  auto patient = settings_;
  patient.server.timeout_ms = std::max<std::uint64_t>(timeout_ns / 1'000'000, 1);
  try {
    PostgresConnection connection(patient);
    connection.connect();
    const auto result = connection.ask("CHECKPOINT");
    const char* const code = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    if (code != nullptr && std::string_view(code) == "42501") {
      return {false, fmt::format("PostgreSQL: CHECKPOINT: {}; grant {} the role pg_checkpoint",
                                 message_of(result.get()), settings_.server.user)};
    }
    if (!is_ok(result.get())) throw DatabaseError("PostgreSQL: CHECKPOINT: " + message_of(result.get()));
  } catch (const LostServer& lost) {
    if (lost.timed_out()) return {false, "PostgreSQL: its checkpoint did not finish within the time limit"};
    throw DatabaseError(lost.what());
  }
  poll_checkpoints();
  while (value("SELECT count(*) FROM pg_stat_activity WHERE backend_type='autovacuum worker'") != "0") {
    if (Clock::now() >= deadline || interruption() != 0) {
      return {false, "PostgreSQL: an autovacuum worker ran until the time limit"};
    }
    std::this_thread::sleep_for(poll_period);
  }
  poll_checkpoints();
  return {true, "CHECKPOINT returned; no autovacuum worker running"};
}

Checkpoints Postgres::checkpoints() const {
  const auto row =
      first_row(version_number_ >= version_17
                    ? "SELECT num_timed+num_requested, (write_time+sync_time)::bigint, buffers_written*"
                      "current_setting('block_size')::bigint FROM pg_stat_checkpointer"
                    : "SELECT checkpoints_timed+checkpoints_req, (checkpoint_write_time+checkpoint_sync_time)::bigint, "
                      "buffers_checkpoint*current_setting('block_size')::bigint FROM pg_stat_bgwriter");
  if (row.size() != 3) return {};
  return {number(row[0]), number(row[1]), number(row[2])};
}

void Postgres::poll_checkpoints() {
  try {
    const std::lock_guard lock(mutex_);
    events_.observe(checkpoints());
  } catch (const std::runtime_error&) {
    // The server is away; the sessions report it.
  }
}

void Postgres::tell_statistics() const {
  const std::lock_guard lock(sessions_mutex_);
  for (auto* session : sessions_) session->tell_statistics();
}

std::vector<Component> Postgres::components() const {
  tell_statistics();
  const auto done = checkpoints();
  Component checkpoint{.name = "checkpoint",
                       .count = done.count,
                       .duration_ns = done.duration_ms * 1'000'000,
                       .read_bytes = {},
                       .write_bytes = done.write_bytes,
                       .syncs = {}};
  Component wal{.name = "wal", .count = {}, .duration_ns = {}, .read_bytes = {}, .write_bytes = {}, .syncs = {}};
  // Without pg_stat_force_next_flush the figures are seconds late.
  if (version_number_ >= version_15) {
    const bool tells_syncs = version_number_ < version_18;
    const auto row =
        first_row(fmt::format("SELECT wal_records, wal_bytes{} FROM pg_stat_wal", tells_syncs ? ", wal_sync" : ""));
    wal.count = number(row.at(0));
    wal.write_bytes = number(row.at(1));
    if (tells_syncs) wal.syncs = number(row.at(2));
  }
  return {checkpoint, wal};
}

// Counters of the driver's table and its database, since their last reset.
std::map<std::string, std::uint64_t> Postgres::counters() const {
  std::map<std::string, std::uint64_t> all;
  const auto add = [&all, this](const std::vector<std::string>& names, const std::string& from) {
    std::string columns;
    for (const auto& name : names) columns += (columns.empty() ? "" : ", ") + fmt::format("coalesce({}, 0)", name);
    const auto row = first_row(fmt::format("SELECT {} FROM {}", columns, from));
    for (std::size_t i = 0; i < row.size(); ++i) all[names[i]] = number(row[i]);
  };
  const std::vector<std::string> of_table = {"n_tup_ins", "n_tup_upd",     "n_tup_hot_upd", "n_tup_del",
                                             "idx_scan",  "idx_tup_fetch", "seq_scan"};
  if (settings_.citus) {
    // The coordinator's table is empty. Each copy of each shard counts.
    for (const auto& name : of_table) {
      all[name] = number(
          value(fmt::format("SELECT coalesce(sum(result::bigint), 0) FROM run_command_on_placements('{}', 'SELECT "
                            "coalesce({}, 0) FROM pg_stat_user_tables WHERE relid=''%s''::regclass')",
                            settings_.table, name)));
    }
  } else {
    add(of_table, fmt::format("pg_stat_user_tables WHERE relid=to_regclass('{}')", settings_.table));
  }
  add({"xact_commit", "xact_rollback", "blks_read", "blks_hit", "tup_inserted", "tup_updated", "tup_deleted",
       "tup_fetched", "tup_returned", "deadlocks"},
      "pg_stat_database WHERE datname=current_database()");
  if (knows_statements_) {
    for (const auto& row : rows(calls_sql())) all["statements." + row.at(0)] = number(row.at(1));
  }
  return all;
}

std::string Postgres::calls_sql() const {
  return fmt::format(
      "SELECT lower(split_part(query, ' ', 1)), sum(calls) FROM pg_stat_statements WHERE dbid=(SELECT oid FROM "
      "pg_database WHERE datname=current_database()) AND query ~* '(FROM|INTO|UPDATE|COPY) {}[ (]' AND query !~ "
      "'pg_stat' GROUP BY 1",
      settings_.table);
}

// A session's statistics are complete when its server process has ended.
void Postgres::await_end_of_sessions() const {
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  const std::string others =
      "SELECT count(*) FROM pg_stat_activity WHERE application_name='edgejoule-driver' AND pid<>pg_backend_pid() AND "
      "datname=current_database()";
  const auto open = [this] {
    const std::lock_guard lock(sessions_mutex_);
    return sessions_.size();
  }();
  const auto wait_for_end = [&deadline](const auto& left) {
    while (left() && Clock::now() < deadline) std::this_thread::sleep_for(poll_period);
  };
  wait_for_end([&] { return number(value(others)) > open; });
  if (!settings_.citus || open > 0) return;
  // A session at the coordinator has sessions at the workers, which are named after it.
  const auto at_workers = fmt::format(
      "SELECT coalesce(sum(result::bigint), 0) FROM run_command_on_workers('SELECT count(*) FROM pg_stat_activity "
      "WHERE "
      "application_name LIKE ''citus_internal gpid=%'' AND backend_start>=''{}'' AND "
      "application_name<>''citus_internal gpid=' || citus_backend_gpid() || '''')",
      opened_);
  wait_for_end([&] { return value_if_allowed(at_workers).value_or("0") != "0"; });
}

std::map<std::string, std::string> Postgres::stats() const {
  std::map<std::string, std::string> stats;
  client_.add_to(stats);
  if (!control_) return stats;
  tell_statistics();
  await_end_of_sessions();
  if (was_restarted()) stats["server.restarted"] = "true";
  // The counters survive a restart, but not a crash.
  for (const auto& [name, count] : counters()) {
    const auto before = counters_at_open_.find(name);
    const auto base = before == counters_at_open_.end() ? 0 : before->second;
    if (count >= base) stats[name] = std::to_string(count - base);
  }
  stats["table_bytes"] = value(fmt::format("SELECT pg_total_relation_size(to_regclass('{}'))", settings_.table));
  return stats;
}

bool Postgres::was_restarted() const { return value("SELECT pg_postmaster_start_time()") != started_; }

std::vector<std::string> Postgres::incidents() const {
  if (was_restarted()) return {server_was_restarted};
  return {};
}

// Counting may take long: the time limit of an operation does not apply to it.
std::optional<std::uint64_t> Postgres::record_count(std::uint64_t timeout_ns) const {
  auto patient = settings_;
  patient.server.timeout_ms = std::max<std::uint64_t>(timeout_ns / 1'000'000, 1);
  const auto sql = fmt::format("SELECT count(*) FROM {}", settings_.table);
  try {
    PostgresConnection connection(patient);
    connection.connect();
    const auto result = connection.ask(sql);
    if (!is_ok(result.get())) throw DatabaseError(fmt::format("PostgreSQL: {}: {}", sql, message_of(result.get())));
    return number(text_at(result.get(), 0, 0));
  } catch (const LostServer& lost) {
    throw DatabaseError(fmt::format("PostgreSQL: {}: {}", sql, lost.what()));
  }
}

std::optional<std::uint64_t> Postgres::server_cpu_ns() const {
  return postmaster_ ? process_tree_cpu_ns(*postmaster_, "postgres") : std::nullopt;
}

}  // namespace

AdapterInfo postgres_adapter() {
  return {"postgres", "PostgreSQL: relational B-tree, a server; Citus on it", postgres_option_help(),
          [] { return std::make_unique<Postgres>(); }};
}

}  // namespace edgejoule::driver
