// RocksDB in the driver's process. README.md describes the operations and the durability classes.
#include <fmt/format.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <chrono>
#include <thread>
#include <unordered_map>

#include "adapters/adapter_options.h"
#include "adapters/key_value/key_value_database.h"
#include "adapters/registry.h"
#include "column_families.h"
#include "compat.h"
#include "contract/properties.h"
#include "event_watch.h"
#include "log_file.h"
#include "offloading.h"
#include "rocksdb_session.h"
#include "system/interruption.h"
#include "system/memory_size.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t bytes_max = 1ULL << 62U;
constexpr std::uint64_t bloom_bits_max = 64;
constexpr std::chrono::milliseconds poll_period{1};
constexpr std::chrono::seconds start_of_compaction_max{1};  // it usually takes milliseconds

const std::vector<OptionHelp>& option_help() {
  static const std::vector<OptionHelp> options = [] {
    std::vector<OptionHelp> all = {
        {"rocksdb.path", "directory of the database; required", ""},
        {"rocksdb.column_family",
         "column family of the rows, created by load if missing; set usertable for a database that YCSB's RocksDB "
         "binding should open",
         "usertable if the database has it, else default"},
        {"rocksdb.options",
         "string for RocksDB's GetOptionsFromString, for example "
         "write_buffer_size=4194304;max_background_jobs=1;compression=kNoCompression",
         ""},
        {"rocksdb.block_cache_bytes", "cache of uncompressed blocks", "RocksDB's"},
        {"rocksdb.bloom_bits", "Bloom filter bits per key; 0: no filter", "0"},
        {"rocksdb.statistics", "collect RocksDB's tickers (costs CPU)", "false"},
    };
    for (auto& option : Offloading::option_help()) all.push_back(std::move(option));
    return all;
  }();
  return options;
}

using OptionMap = std::unordered_map<std::string, std::string>;

OptionMap parsed(const std::string& text) {
  OptionMap map;
  const rocksdb::Status status = rocksdb::StringToMap(text, &map);
  if (!status.ok()) throw DatabaseError(fmt::format("RocksDB: cannot read back its options: {}", status.ToString()));
  return map;
}

// The options that a reader of a result needs, out of RocksDB's hundreds. Options set by rocksdb.options are added.
constexpr std::string_view reported_options[] = {
    "write_buffer_size",
    "max_write_buffer_number",
    "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger",
    "level0_stop_writes_trigger",
    "target_file_size_base",
    "max_bytes_for_level_base",
    "compaction_style",
    "compression",
    "bottommost_compression",
    "max_background_jobs",
    "max_open_files",
    "manual_wal_flush",
    "use_direct_reads",
    "use_direct_io_for_flush_and_compaction",
    "level_compaction_dynamic_level_bytes",
    "bytes_per_sync",
    "wal_bytes_per_sync",
};

class RocksDb final : public KeyValueDatabase {
 public:
  RocksDb() : KeyValueDatabase("rocksdb", {"RocksDB", "rocksdb.path", "IDENTITY", ""}, option_help()) {}

  [[nodiscard]] std::string close() override;
  [[nodiscard]] std::unique_ptr<Session> session() override;
  Status flush() override;
  Settled settle(std::uint64_t timeout_ns) override;
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] std::map<std::string, std::string> options() const override;
  [[nodiscard]] std::string durability_how() const override;
  [[nodiscard]] std::vector<Component> components() const override;
  [[nodiscard]] std::map<std::string, std::string> stats() const override;

 private:
  void take_options(const Properties& properties) override;
  void open_library(const Properties& properties, bool create, EventSink sink) override;
  [[nodiscard]] rocksdb::BlockBasedTableOptions table_options(const Properties& properties) const;
  [[nodiscard]] std::map<std::string, std::string> database_counts() const;
  [[nodiscard]] std::uint64_t number(const std::string& property) const;
  [[nodiscard]] bool works() const;
  void throw_background_failure() const;

  std::shared_ptr<EventWatch> watch_;
  Offloading offloading_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> families_;
  rocksdb::ColumnFamilyHandle* rows_ = nullptr;
  rocksdb::Options options_asked_;
  std::string passed_options_;
  rocksdb::WriteOptions write_;  // used by every session
};

rocksdb::BlockBasedTableOptions RocksDb::table_options(const Properties& properties) const {
  rocksdb::BlockBasedTableOptions table;
  if (properties.has("rocksdb.block_cache_bytes")) {
    const std::uint64_t bytes = bounded_option(properties, "rocksdb.block_cache_bytes", 0, 0, bytes_max);
    table.block_cache = rocksdb::NewLRUCache(memory_size(bytes));
  }
  const std::uint64_t bloom_bits = bounded_option(properties, "rocksdb.bloom_bits", 0, 0, bloom_bits_max);
  if (bloom_bits > 0) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(static_cast<double>(bloom_bits)));
  return table;
}

void RocksDb::take_options(const Properties& properties) {
  passed_options_ = properties.get("rocksdb.options", "");
  rocksdb::Options base;
  if (properties.has("rocksdb.block_cache_bytes") || properties.has("rocksdb.bloom_bits")) {
    base.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(properties)));
  }
  if (properties.get_bool("rocksdb.statistics", false)) base.statistics = rocksdb::CreateDBStatistics();
  const rocksdb::Status status =
      rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), base, passed_options_, &options_asked_);
  if (!status.ok()) {
    throw UsageError(fmt::format("{}: property rocksdb.options={}: RocksDB refuses it: {}",
                                 properties.origin("rocksdb.options"), passed_options_, status.ToString()));
  }
  write_.disableWAL = durability() == Durability::none;
  write_.sync = durability() == Durability::power;
}

void RocksDb::open_library(const Properties& properties, bool create, EventSink sink) {
  watch_ = std::make_shared<EventWatch>(std::move(sink));
  rocksdb::Options options = std::move(options_asked_);
  options.create_if_missing = create;
  options.listeners.push_back(watch_);
  offloading_.attach(options, properties);
  options.info_log = std::make_shared<LogFile>(path(), options.info_log_level);
  auto opened = open_with_column_families(options, path(), properties);
  db_ = std::move(opened.db);
  families_ = std::move(opened.families);
  rows_ = opened.rows;
}

std::string RocksDb::close() {
  if (!db_) return {};
  families_.clear();
  const rocksdb::Status status = db_->Close();
  db_.reset();
  watch_->close();
  return status.ok() ? "" : fmt::format("RocksDB: close of {}: {}", path(), status.ToString());
}

std::unique_ptr<Session> RocksDb::session() {
  return std::make_unique<RocksDbSession>(*db_, *rows_, locks(), rocksdb::ReadOptions(), write_);
}

// Writes the memtable to a synced table in every durability class. Without a log this is the only way. With a log,
// nothing is left to replay.
Status RocksDb::flush() {
  rocksdb::FlushOptions wait;
  wait.wait = true;
  wait.allow_write_stall = true;  // no client writes now; otherwise the flush would wait for compactions without limit
  const rocksdb::Status status = db_->Flush(wait, rows_);
  return flushed("flush", status.ok() ? "" : status.ToString());
}

std::uint64_t RocksDb::number(const std::string& property) const {
  std::uint64_t value = 0;
  if (!db_->GetIntProperty(rows_, property, &value)) {
    throw DatabaseError(fmt::format("RocksDB at {} does not report {}", path(), property));
  }
  return value;
}

bool RocksDb::works() const {
  using Name = rocksdb::DB::Properties;
  return watch_->running() != 0 || number(Name::kNumRunningFlushes) != 0 || number(Name::kNumRunningCompactions) != 0 ||
         number(Name::kMemTableFlushPending) != 0;
}

void RocksDb::throw_background_failure() const {
  const std::string failure = watch_->failure();
  if (!failure.empty()) throw DatabaseError(fmt::format("RocksDB: background work of {}: {}", path(), failure));
}

// Polls, because RocksDB 7.8 has no DB::WaitForCompact.
Settled RocksDb::settle(std::uint64_t timeout_ns) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  if (flush() != Status::ok) throw DatabaseError(flush_error());
  const rocksdb::Options options = db_->GetOptions(rows_);
  // Universal and FIFO compaction may report pending work and then do nothing.
  const bool starts_what_is_pending = options.compaction_style == rocksdb::kCompactionStyleLevel;
  auto last_work = std::chrono::steady_clock::now();
  const auto pending = [&] {
    if (options.disable_auto_compactions || number(rocksdb::DB::Properties::kCompactionPending) == 0) return false;
    return starts_what_is_pending || std::chrono::steady_clock::now() - last_work < start_of_compaction_max;
  };
  // Reads running work before and after pending work: a compaction that starts between two readings could be missing in
  // both.
  bool working = false;
  const auto busy = [&] {
    const std::uint64_t begun = watch_->begun();
    working = works();
    return working || pending() || works() || watch_->begun() != begun;
  };
  while (busy()) {
    if (working) last_work = std::chrono::steady_clock::now();
    throw_background_failure();
    if (std::chrono::steady_clock::now() >= deadline || interruption() != 0) {
      return {false, "RocksDB still had flushes or compactions running or pending at the time limit"};
    }
    std::this_thread::sleep_for(poll_period);
  }
  throw_background_failure();  // after a failed compaction RocksDB is idle, too
  if (const auto left = number(rocksdb::DB::Properties::kNumEntriesActiveMemTable); left > 0) {
    throw DatabaseError(
        fmt::format("RocksDB: {} entries are left in the memtable of {} after its flush, expected 0", left, path()));
  }
  return {
      true,
      "memtable flushed to a synced table, 0 entries left in it; RocksDB reports no flush and no compaction running "
      "or pending"};
}

std::string RocksDb::version() const { return rocksdb::GetRocksVersionAsString(true); }

std::map<std::string, std::string> RocksDb::options() const {
  rocksdb::ConfigOptions format;
  std::string database_text;
  std::string family_text;
  const rocksdb::Options options = db_->GetOptions(rows_);
  const rocksdb::Status database = rocksdb::GetStringFromDBOptions(format, options, &database_text);
  const rocksdb::Status family = rocksdb::GetStringFromColumnFamilyOptions(format, options, &family_text);
  if (!database.ok() || !family.ok()) throw DatabaseError("RocksDB: cannot read back its options");
  OptionMap effective = parsed(database_text);
  effective.merge(parsed(family_text));

  std::map<std::string, std::string> reported;
  for (const std::string_view name : reported_options) {
    const auto found = effective.find(std::string(name));
    if (found != effective.end()) reported[found->first] = found->second;
  }
  for (const auto& [name, value] : parsed(passed_options_)) {
    reported[name] = effective.contains(name) ? effective[name] : value;
  }
  const auto* table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  if (table != nullptr) {
    reported["block_size"] = std::to_string(table->block_size);
    if (table->block_cache) reported["block_cache_bytes"] = std::to_string(table->block_cache->GetCapacity());
    reported["filter_policy"] = table->filter_policy ? table->filter_policy->GetId() : "none";
  }
  reported["column_family"] = rows_->GetName();
  reported["statistics"] = options.statistics ? "true" : "false";
  reported["disableWAL"] = write_.disableWAL ? "true" : "false";
  reported["sync"] = write_.sync ? "true" : "false";
  if (!offloading_.asked().empty()) reported["eco"] = offloading_.asked();
  return reported;
}

std::string RocksDb::durability_how() const {
  std::string how;
  switch (durability()) {
    case Durability::none:
      return "none: WriteOptions.disableWAL=true: what is in the memtable is lost with the process";
    case Durability::process:
      how =
          "process: WAL with WriteOptions.sync=false: each write is handed to the operating system before it is "
          "acknowledged";
      break;
    case Durability::power:
      how = "power: WAL with WriteOptions.sync=true: the log is synced before each acknowledgement";
      break;
  }
  if (db_ && db_->GetDBOptions().manual_wal_flush) {
    how += "; but rocksdb.options sets manual_wal_flush: the promise of the class does not hold";
  }
  return how;
}

// RocksDB maintains these counts even without its statistics.
std::map<std::string, std::string> RocksDb::database_counts() const {
  std::map<std::string, std::string> counts;
  db_->GetMapProperty(rocksdb::DB::Properties::kDBStats, &counts);
  return counts;
}

std::vector<Component> RocksDb::components() const {
  std::vector<Component> components = watch_->components();
  const std::map<std::string, std::string> counts = database_counts();
  const auto count = [&counts](const char* name) -> std::optional<std::uint64_t> {
    const auto found = counts.find(name);
    return found == counts.end() ? std::nullopt : std::optional<std::uint64_t>(std::stoull(found->second));
  };
  components.push_back({.name = "wal",
                        .count = count("db.user_writes_with_wal"),
                        .duration_ns = std::nullopt,
                        .read_bytes = std::nullopt,
                        .write_bytes = count("db.wal_bytes_written"),
                        .syncs = count("db.wal_syncs")});
  const auto stalled_us = count("db.user_write_stall_micros");
  components.push_back({.name = "stall",
                        .count = std::nullopt,
                        .duration_ns = stalled_us ? std::optional(*stalled_us * 1000) : std::nullopt,
                        .read_bytes = std::nullopt,
                        .write_bytes = std::nullopt,
                        .syncs = std::nullopt});
  if (!offloading_.asked().empty()) {
    components.push_back({.name = "remote_compaction",
                          .count = offloading_.statistics().installed,
                          .duration_ns = std::nullopt,
                          .read_bytes = std::nullopt,
                          .write_bytes = std::nullopt,
                          .syncs = std::nullopt});
  }
  return components;
}

std::map<std::string, std::string> RocksDb::stats() const {
  if (!db_) return {};
  using Name = rocksdb::DB::Properties;
  std::map<std::string, std::string> stats = database_counts();
  offloading_.add_to(stats);
  for (const std::string& name : {Name::kCurSizeAllMemTables, Name::kNumEntriesActiveMemTable, Name::kTotalSstFilesSize,
                                  Name::kBlockCacheUsage, Name::kEstimateNumKeys}) {
    std::string value;
    if (db_->GetProperty(rows_, name, &value)) stats[name] = value;
  }
  for (int level = 0; level < db_->NumberLevels(rows_); ++level) {
    const std::string name = Name::kNumFilesAtLevelPrefix + std::to_string(level);
    std::string value;
    if (db_->GetProperty(rows_, name, &value)) stats[name] = value;
  }
  const auto statistics = db_->GetDBOptions().statistics;
  std::map<std::string, std::uint64_t> tickers;
  if (statistics && statistics->getTickerMap(&tickers)) {
    for (const auto& [name, value] : tickers) stats[name] = std::to_string(value);
  }
  return stats;
}

}  // namespace

AdapterInfo rocksdb_adapter() {
  return {"rocksdb", "RocksDB: log-structured merge tree, in process", option_help(),
          [] { return std::make_unique<RocksDb>(); }};
}

}  // namespace edgejoule::driver
