// SQLite in the driver's process. README.md describes the operations and the durability classes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "adapters/data_directory.h"
#include "adapters/exclusive_use.h"
#include "adapters/registry.h"
#include "contract/properties.h"
#include "sqlite_session.h"
#include "system/interruption.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds retry_period{1};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// True if a column of the declared type stores keys as `wanted` does. SQLite treats every type with CHAR in its name as
// text (datatype3, 3.1): YCSB's tool declares VARCHAR, its manual VARCHAR(255).
bool holds_keys(const std::string& type, SqliteKeyType wanted) {
  if (wanted != SqliteKeyType::text) return type == declared(wanted);
  const auto name = lower(type);
  return name.find("int") == std::string::npos &&
         (name.find("char") != std::string::npos || name.find("text") != std::string::npos);
}

// During its life, the connection does not wait for others' locks, because the caller has its own time limit.
class NoBusyWait {
 public:
  NoBusyWait(sqlite3* connection, int former_ms) : connection_(connection), former_ms_(former_ms) {
    sqlite3_busy_timeout(connection, 0);
  }
  ~NoBusyWait() { sqlite3_busy_timeout(connection_, former_ms_); }
  NoBusyWait(const NoBusyWait&) = delete;
  NoBusyWait& operator=(const NoBusyWait&) = delete;

 private:
  sqlite3* const connection_;
  const int former_ms_;
};

class Sqlite final : public Database {
 public:
  void open(const Properties& properties, Durability durability, bool create, EventSink sink) override;
  [[nodiscard]] std::string close() override;
  [[nodiscard]] std::unique_ptr<Session> session() override;
  Status flush() override;
  [[nodiscard]] std::string flush_error() const override { return flush_error_; }
  Settled settle(std::uint64_t timeout_ns) override;
  [[nodiscard]] std::string version() const override { return sqlite3_libversion(); }
  [[nodiscard]] std::map<std::string, std::string> options() const override;
  [[nodiscard]] std::string durability_how() const override { return settings_.durability_how; }
  [[nodiscard]] std::vector<Component> components() const override;
  [[nodiscard]] std::optional<IoCounts> io_counts() const override;
  [[nodiscard]] std::map<std::string, std::string> stats() const override;
  [[nodiscard]] std::string path() const override { return settings_.data_path; }
  [[nodiscard]] std::optional<std::uint64_t> record_count(std::uint64_t timeout_ns) const override;

 private:
  void check_file(bool create) const;
  void prepare_table(bool create) const;
  void check_page_size() const;
  [[nodiscard]] std::string create_sql() const;
  [[nodiscard]] std::map<std::string, std::string> column_types() const;  // by name in lower case
  Status sync(int which);
  [[nodiscard]] std::uintmax_t wal_bytes() const;

  CountingVfs vfs_;  // created before all connections
  SqliteSettings settings_;
  ExclusiveUse exclusive_use_;  // created before all connections, so that it is released after them
  std::unique_ptr<SqliteCheckpoints> checkpoints_;
  SqliteConnectionCounters counters_;
  // Open beside the sessions: creates the table, settles, reads options and counters back.
  std::shared_ptr<SqliteConnection> control_;
  std::string flush_error_;
};

void Sqlite::check_file(bool create) const {
  std::error_code failure;
  const bool there = fs::exists(settings_.file, failure);
  if (!failure && !there && !create) throw DatabaseError(no_database_at(settings_.file, "SQLite"));
  const fs::path directory = fs::path(settings_.file).parent_path();
  if (!there && !directory.empty()) {
    fs::create_directories(directory, failure);
    if (failure) {
      throw DatabaseError(
          fmt::format("cannot create the directory {}: {}; set sqlite.path to a file in a directory "
                      "that can be written",
                      directory.string(), failure.message()));
    }
  }
}

std::string Sqlite::create_sql() const {
  std::string fields;
  for (const std::string& name : settings_.field_names) {
    fields += fmt::format(", {} {}", sql_name(name), declared(settings_.field_type));
  }
  return fmt::format("CREATE TABLE {} (YCSB_KEY {} PRIMARY KEY{}){}", sql_name(settings_.table),
                     declared(settings_.key_type), fields, settings_.without_rowid ? " WITHOUT ROWID" : "");
}

std::map<std::string, std::string> Sqlite::column_types() const {
  std::map<std::string, std::string> types;
  const Statement statement = control_->prepare(fmt::format("PRAGMA table_info({})", sql_name(settings_.table)));
  int code = SQLITE_DONE;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    const auto text = [&statement](int column) {
      return reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), column));
    };
    types[lower(text(1))] = text(2);
  }
  if (code != SQLITE_DONE) throw DatabaseError(control_->error(code));
  return types;
}

void Sqlite::prepare_table(bool create) const {
  auto columns = column_types();
  if (columns.empty()) {
    if (!create) throw DatabaseError(no_database_at(settings_.file, "loaded SQLite"));
    control_->execute(create_sql());
    columns = column_types();
  }
  if (!holds_keys(columns["ycsb_key"], settings_.key_type)) {
    throw DatabaseError(fmt::format(
        "SQLite: table {} in {} was loaded by a workload of another kind: its keys are {}, expected {}; load again",
        settings_.table, settings_.file, columns["ycsb_key"], declared(settings_.key_type)));
  }
  for (const std::string& name : settings_.field_names) {
    if (!columns.contains(lower(name))) {
      throw DatabaseError(
          fmt::format("SQLite: table {} in {} has no column {}; set fieldcount and fieldnameprefix as "
                      "they were at load, or load again",
                      settings_.table, settings_.file, name));
    }
  }
}

void Sqlite::check_page_size() const {
  const std::string page_size = control_->value_of("PRAGMA page_size");
  if (settings_.page_size_bytes && page_size != std::to_string(*settings_.page_size_bytes)) {
    throw DatabaseError(
        fmt::format("SQLite: {} has pages of {} bytes, not the {} of sqlite.page_size_bytes (512 to "
                    "65536, a power of two); load again to change it",
                    settings_.file, page_size, *settings_.page_size_bytes));
  }
}

void Sqlite::open(const Properties& properties, Durability durability, bool create, EventSink sink) {
  settings_ = sqlite_settings(properties, durability);
  settings_.vfs = vfs_.name();
  checkpoints_ = std::make_unique<SqliteCheckpoints>(std::move(sink), settings_.wal_autocheckpoint_pages);
  check_file(create);
  exclusive_use_.take(settings_.file, create, "sqlite", settings_.allow_concurrent);
  control_ = std::make_shared<SqliteConnection>(settings_, create);
  checkpoints_->watch(control_->handle());
  check_page_size();
  prepare_table(create);
}

std::string Sqlite::close() {
  control_.reset();
  exclusive_use_.release();
  return {};
}

std::unique_ptr<Session> Sqlite::session() {
  if (settings_.exclusive && control_.use_count() > 1) {
    throw DatabaseError("SQLite: sqlite.locking_mode=exclusive serves one client thread; expected threads=1");
  }
  auto connection = settings_.exclusive ? control_ : std::make_shared<SqliteConnection>(settings_, false);
  return std::make_unique<SqliteSession>(settings_, std::move(connection), *checkpoints_, counters_);
}

// Uses SQLite's file handles: opening and closing the file separately would drop all locks of the process.
Status Sqlite::sync(int which) {
  sqlite3_file* file = nullptr;
  int code = sqlite3_file_control(control_->handle(), "main", which, static_cast<void*>(&file));
  if (code == SQLITE_OK && file != nullptr && file->pMethods != nullptr) {
    code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
  }
  if (code == SQLITE_OK) return Status::ok;
  flush_error_ = fmt::format("SQLite: sync of {}: {}", settings_.file, sqlite3_errstr(code));
  return Status::error;
}

Status Sqlite::flush() {
  flush_error_.clear();
  // A connection opens the WAL at its first read, which no lock delays.
  if (settings_.journal_mode == "wal") (void)control_->value_of("SELECT count(*) FROM sqlite_schema");
  const Status journal = sync(SQLITE_FCNTL_JOURNAL_POINTER);
  return journal == Status::ok ? sync(SQLITE_FCNTL_FILE_POINTER) : journal;
}

std::uintmax_t Sqlite::wal_bytes() const {
  if (settings_.journal_mode != "wal") return 0;
  std::error_code failure;
  const auto bytes = fs::file_size(settings_.file + "-wal", failure);
  if (failure) {
    throw DatabaseError(fmt::format("SQLite: cannot inspect {}-wal: {}", settings_.file, failure.message()));
  }
  return bytes;
}

Settled Sqlite::settle(std::uint64_t timeout_ns) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  const auto checkpoint = [this] {
    return checkpoints_->checkpoint(control_->handle(), "main", SQLITE_CHECKPOINT_TRUNCATE);
  };
  const NoBusyWait no_wait(control_->handle(), settings_.busy_timeout_ms);
  int code = SQLITE_OK;
  while (((code = checkpoint()) & 0xff) == SQLITE_BUSY || (code == SQLITE_OK && wal_bytes() > 0)) {
    if (std::chrono::steady_clock::now() >= deadline || interruption() != 0) {
      return {false, "SQLite: a reader or writer kept the WAL from being checkpointed until the time limit"};
    }
    std::this_thread::sleep_for(retry_period);
  }
  if (code != SQLITE_OK) throw DatabaseError(control_->error(code));
  if (flush() != Status::ok) throw DatabaseError(flush_error_);
  if (settings_.journal_mode != "wal") return {true, "main file synced; SQLite does no work after a commit"};
  return {true, "wal_checkpoint(TRUNCATE): 0 bytes of WAL left; main file synced"};
}

std::map<std::string, std::string> Sqlite::options() const {
  std::map<std::string, std::string> options;
  for (const char* name : {"journal_mode", "synchronous", "cache_size", "mmap_size", "page_size", "busy_timeout",
                           "auto_vacuum", "locking_mode", "secure_delete", "encoding"}) {
    options[name] = control_->value_of(std::string("PRAGMA ") + name);
  }
  options["wal_autocheckpoint"] = std::to_string(settings_.wal_autocheckpoint_pages);
  options["table"] = control_->value_of(
      fmt::format("SELECT sql FROM sqlite_schema WHERE type='table' AND name='{}'", settings_.table));
  return options;
}

std::optional<IoCounts> Sqlite::io_counts() const {
  IoCounts sum;
  for (const SqliteIo* io : {&vfs_.main_file(), &vfs_.log(), &vfs_.other(), &checkpoints_->io()}) io->add_to(sum);
  return sum;
}

std::vector<Component> Sqlite::components() const {
  const SqliteIo& log = vfs_.log();
  const Component logged{.name = settings_.journal_mode == "wal" ? "wal" : "journal",
                         .count = std::nullopt,
                         .duration_ns = std::nullopt,
                         .read_bytes = log.read_bytes,
                         .write_bytes = log.write_bytes,
                         .syncs = log.syncs};
  if (settings_.journal_mode != "wal") return {logged};
  const SqliteIo& io = checkpoints_->io();
  return {logged, Component{.name = "checkpoint",
                            .count = checkpoints_->count(),
                            .duration_ns = checkpoints_->duration_ns(),
                            .read_bytes = io.read_bytes,
                            .write_bytes = io.write_bytes,
                            .syncs = io.syncs}};
}

std::optional<std::uint64_t> Sqlite::record_count(std::uint64_t /*timeout_ns*/) const {
  return std::stoull(control_->value_of(fmt::format("SELECT count(*) FROM {}", sql_name(settings_.table))));
}

std::map<std::string, std::string> Sqlite::stats() const {
  std::map<std::string, std::string> stats = {
      {"cache_hits", std::to_string(counters_.cache_hits)},
      {"cache_misses", std::to_string(counters_.cache_misses)},
      {"cache_writes", std::to_string(counters_.cache_writes)},
      {"cache_spills", std::to_string(counters_.cache_spills)},
      {"total_changes", std::to_string(counters_.total_changes)},
      {"main_file_read_bytes", std::to_string(vfs_.main_file().read_bytes)},
      {"main_file_write_bytes", std::to_string(vfs_.main_file().write_bytes)},
      {"main_file_syncs", std::to_string(vfs_.main_file().syncs)},
  };
  if (!checkpoints_ || !control_) return stats;
  stats["checkpoints"] = std::to_string(checkpoints_->count());
  stats["checkpoints_busy"] = std::to_string(checkpoints_->busy());
  stats["page_count"] = control_->value_of("PRAGMA page_count");
  stats["freelist_count"] = control_->value_of("PRAGMA freelist_count");
  return stats;
}

}  // namespace

AdapterInfo sqlite_adapter() {
  return {"sqlite", "SQLite: relational B-tree, in process", sqlite_option_help(),
          [] { return std::make_unique<Sqlite>(); }};
}

}  // namespace edgejoule::driver
