// LevelDB in the driver's process. README.md describes the operations and the durability classes.
#include <fmt/format.h>
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <array>
#include <filesystem>
#include <limits>

#include "adapters/adapter_options.h"
#include "adapters/key_value/key_value_database.h"
#include "adapters/registry.h"
#include "contract/properties.h"
#include "leveldb_session.h"
#include "log_watch.h"
#include "system/memory_size.h"
#include "watching_env.h"

namespace edgejoule::driver {
namespace {

// LevelDB silently limits options to these bounds. The adapter refuses values outside, so that options() is true.
constexpr std::uint64_t write_buffer_bytes_min = 64ULL << 10U;
constexpr std::uint64_t write_buffer_bytes_max = 1ULL << 30U;
constexpr std::uint64_t file_bytes_min = 1ULL << 20U;
constexpr std::uint64_t file_bytes_max = 1ULL << 30U;
constexpr std::uint64_t block_bytes_min = 1ULL << 10U;
constexpr std::uint64_t block_bytes_max = 4ULL << 20U;
constexpr std::uint64_t open_files_min = 74;
constexpr std::uint64_t open_files_max = 50000;
constexpr std::uint64_t bloom_bits_max = 64;
constexpr std::uint64_t library_cache_bytes = 8ULL << 20U;  // the cache that LevelDB creates by default

const std::vector<OptionHelp>& option_help() {
  static const std::vector<OptionHelp> options = {
      {"leveldb.path", "directory of the database; required", ""},
      {"leveldb.write_buffer_bytes", "memtable size at which it is flushed (LevelDB: write_buffer_size)", "4194304"},
      {"leveldb.block_cache_bytes", "cache of uncompressed blocks", "8388608"},
      {"leveldb.block_bytes", "uncompressed size of a table's block (LevelDB: block_size)", "4096"},
      {"leveldb.bloom_bits", "Bloom filter bits per key; 0: no filter", "0"},
      {"leveldb.compression", "snappy or none", "snappy"},
      {"leveldb.max_open_files", "tables kept open", "1000"},
      {"leveldb.max_file_bytes", "table size at which the next one begins (LevelDB: max_file_size)", "2097152"},
      {"leveldb.verify_checksums", "verify the checksum of every block read", "false"},
  };
  return options;
}

// Sorts after every key that a workload writes.
constexpr std::string_view beyond_all_keys = "\xff\xff\xff\xff\xff\xff\xff\xff";

class LevelDb final : public KeyValueDatabase {
 public:
  LevelDb() : KeyValueDatabase("leveldb", {"LevelDB", "leveldb.path", "CURRENT", "IDENTITY"}, option_help()) {}
  ~LevelDb() override { close_library(); }

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
  [[nodiscard]] std::unique_ptr<leveldb::Logger> log_file();
  void close_library();
  [[nodiscard]] std::uint64_t log_bytes() const;

  // The order matters: the database must be destroyed before the objects it uses.
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  WatchingEnv env_;
  std::unique_ptr<LogWatch> log_;
  std::unique_ptr<leveldb::DB> db_;

  leveldb::Options options_;
  leveldb::WriteOptions write_;  // used by every session
  std::uint64_t cache_bytes_ = library_cache_bytes;
  int bloom_bits_ = 0;
  bool verify_checksums_ = false;
};

void LevelDb::take_options(const Properties& properties) {
  constexpr auto int_max = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  static constexpr std::array<std::string_view, 2> compressions = {"snappy", "none"};

  const auto size = [&properties](const char* key, std::uint64_t fallback, std::uint64_t min, std::uint64_t max) {
    return memory_size(bounded_option(properties, key, fallback, min, max));
  };
  options_.write_buffer_size =
      size("leveldb.write_buffer_bytes", options_.write_buffer_size, write_buffer_bytes_min, write_buffer_bytes_max);
  options_.block_size = size("leveldb.block_bytes", options_.block_size, block_bytes_min, block_bytes_max);
  options_.max_file_size = size("leveldb.max_file_bytes", options_.max_file_size, file_bytes_min, file_bytes_max);
  options_.max_open_files = static_cast<int>(size("leveldb.max_open_files", 1000, open_files_min, open_files_max));
  cache_bytes_ = size("leveldb.block_cache_bytes", library_cache_bytes, 0, int_max);
  bloom_bits_ = static_cast<int>(size("leveldb.bloom_bits", 0, 0, bloom_bits_max));
  verify_checksums_ = properties.get_bool("leveldb.verify_checksums", false);
  const bool snappy = choice_option(properties, "leveldb.compression", "snappy", compressions) == "snappy";
  options_.compression = snappy ? leveldb::kSnappyCompression : leveldb::kNoCompression;
  write_.sync = durability() == Durability::power;
}

// Opens LOG as LevelDB does by default: the old LOG becomes LOG.old.
std::unique_ptr<leveldb::Logger> LevelDb::log_file() {
  const std::string name = path() + "/LOG";
  if (env_.FileExists(name)) {
    const leveldb::Status renamed = env_.RenameFile(name, name + ".old");
    if (!renamed.ok()) throw DatabaseError(fmt::format("LevelDB: {}", renamed.ToString()));
  }
  leveldb::Logger* logger = nullptr;
  const leveldb::Status made = env_.NewLogger(name, &logger);
  if (!made.ok()) throw DatabaseError(fmt::format("LevelDB: cannot write {}: {}", name, made.ToString()));
  return std::unique_ptr<leveldb::Logger>(logger);
}

void LevelDb::open_library(const Properties& /*properties*/, bool create, EventSink sink) {
  cache_.reset(leveldb::NewLRUCache(memory_size(cache_bytes_)));
  if (bloom_bits_ > 0) filter_.reset(leveldb::NewBloomFilterPolicy(bloom_bits_));
  log_ = std::make_unique<LogWatch>(log_file(), std::move(sink),
                                    [this] { return env_.io().background_read_bytes.load(); });
  options_.create_if_missing = create;
  options_.block_cache = cache_.get();
  options_.filter_policy = filter_.get();
  options_.env = &env_;
  options_.info_log = log_.get();

  leveldb::DB* db = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options_, path(), &db);
  if (!status.ok()) {
    throw DatabaseError(
        fmt::format("cannot open the LevelDB database at {}: {}; check that no other process has it "
                    "open and that it can be written, or load a new one elsewhere",
                    path(), status.ToString()));
  }
  db_.reset(db);
}

void LevelDb::close_library() {
  db_.reset();
  // LevelDB's wait ends before the Env has counted the work as done.
  env_.wait_until_idle();
}

std::string LevelDb::close() {
  close_library();
  return {};
}

std::unique_ptr<Session> LevelDb::session() {
  leveldb::ReadOptions read;
  read.verify_checksums = verify_checksums_;
  return std::make_unique<LevelDbSession>(*db_, locks(), read, write_);
}

// A manual compaction of a range without tables writes the memtable to a synced table and changes nothing else. Syncing
// the log would not be enough: LevelDB closes the log of a memtable being flushed without a sync.
Status LevelDb::flush() {
  leveldb::WriteBatch nothing;
  leveldb::WriteOptions write;
  write.sync = true;
  const leveldb::Status synced = db_->Write(write, &nothing);
  const leveldb::Slice beyond(beyond_all_keys.data(), beyond_all_keys.size());
  if (synced.ok()) db_->CompactRange(&beyond, &beyond);
  return flushed("flush", synced.ok() ? log_->failure() : synced.ToString());
}

std::uint64_t LevelDb::log_bytes() const {
  std::uint64_t bytes = 0;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      if (entry.path().extension() == ".log") bytes += entry.file_size();
    }
  } catch (const std::filesystem::filesystem_error& failure) {
    throw DatabaseError(fmt::format("LevelDB: cannot inspect its logs after the flush: {}", failure.what()));
  }
  return bytes;
}

Settled LevelDb::settle(std::uint64_t timeout_ns) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  static constexpr const char* still_busy = "LevelDB still had background work queued or running at the time limit";
  if (!env_.wait_until_idle(deadline)) return {false, still_busy};
  if (flush() != Status::ok) throw DatabaseError(flush_error());
  if (!env_.wait_until_idle(deadline)) return {false, still_busy};
  const std::string failure = log_->failure();  // after a failed compaction nothing is scheduled either
  if (!failure.empty()) throw DatabaseError(fmt::format("LevelDB: {}", failure));
  // LevelDB does not report why it could not start a new log and a new memtable.
  if (const std::uint64_t left = log_bytes(); left > 0) {
    throw DatabaseError(fmt::format(
        "LevelDB: the memtable of {} was not written out: {} bytes of log are left, expected 0", path(), left));
  }
  return {true,
          "memtable written to a synced table, 0 bytes of log left; LevelDB has no background work queued or running"};
}

std::string LevelDb::version() const { return fmt::format("{}.{}", leveldb::kMajorVersion, leveldb::kMinorVersion); }

std::map<std::string, std::string> LevelDb::options() const {
  return {
      {"write_buffer_size", std::to_string(options_.write_buffer_size)},
      {"block_cache_bytes", std::to_string(cache_bytes_)},
      {"block_size", std::to_string(options_.block_size)},
      {"bloom_bits", std::to_string(bloom_bits_)},
      {"compression", options_.compression == leveldb::kSnappyCompression ? "snappy" : "none"},
      {"max_open_files", std::to_string(options_.max_open_files)},
      {"max_file_size", std::to_string(options_.max_file_size)},
      {"verify_checksums", fmt::to_string(verify_checksums_)},
      {"sync", fmt::to_string(write_.sync)},
  };
}

std::string LevelDb::durability_how() const {
  switch (durability()) {
    case Durability::none:
      return "none: WriteOptions.sync=false, the same as process: LevelDB cannot write without its log";
    case Durability::process:
      return "process: WriteOptions.sync=false: each write is handed to the operating system before it is acknowledged";
    case Durability::power:
      return "power: WriteOptions.sync=true: the log is synced (fdatasync) before each acknowledgement";
  }
  return {};
}

std::vector<Component> LevelDb::components() const {
  std::vector<Component> components = log_->components();
  components.push_back({.name = "wal",
                        .count = std::nullopt,
                        .duration_ns = std::nullopt,
                        .read_bytes = std::nullopt,
                        .write_bytes = env_.io().log_write_bytes,
                        .syncs = env_.io().log_syncs});
  return components;
}

std::map<std::string, std::string> LevelDb::stats() const {
  std::map<std::string, std::string> stats;
  const auto add = [this, &stats](const std::string& name) {
    std::string value;
    if (db_ && db_->GetProperty(name, &value)) stats[name] = value;
  };
  constexpr int levels = 7;
  for (int level = 0; level < levels; ++level) add("leveldb.num-files-at-level" + std::to_string(level));
  add("leveldb.approximate-memory-usage");
  return stats;
}

}  // namespace

AdapterInfo leveldb_adapter() {
  return {"leveldb", "LevelDB: log-structured merge tree, in process", option_help(),
          [] { return std::make_unique<LevelDb>(); }};
}

}  // namespace edgejoule::driver
