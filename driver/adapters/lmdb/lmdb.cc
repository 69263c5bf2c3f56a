// LMDB in the driver's process. README.md describes the operations and the durability classes.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "adapters/adapter_options.h"
#include "adapters/exclusive_use.h"
#include "adapters/key_value/key_value_database.h"
#include "adapters/registry.h"
#include "contract/properties.h"
#include "failure.h"
#include "lmdb_session.h"
#include "map_fault.h"

namespace edgejoule::driver {
namespace {

// The limit of the database's size. It uses address space, not memory. It fits into the 39-bit address space of some
// 64-bit ARM kernels, and between the libraries of a 32-bit process.
constexpr std::uint64_t default_map_bytes = sizeof(void*) >= 8 ? 128ULL << 30U : 1ULL << 30U;
constexpr std::uint64_t map_bytes_min = 64ULL << 10U;
constexpr std::uint64_t library_readers = 126;  // LMDB's default
constexpr std::uint64_t readers_to_spare = 16;  // for other processes that read the database
constexpr std::uint64_t readers_max = 1'000'000;
constexpr mode_t file_mode = 0644;

const std::vector<OptionHelp>& option_help() {
  static const std::vector<OptionHelp> options = {
      {"lmdb.path", "directory of the database; required", ""},
      {"lmdb.map_bytes", "largest size of the database; reserves address space, not memory",
       std::to_string(default_map_bytes)},
      {"lmdb.max_readers", "slots of the reader table, one for each thread of all processes",
       "threadcount + 16, at least 126"},
      {"lmdb.nosync", "true or false; MDB_NOSYNC: sync nothing at a commit", "by durability class"},
      {"lmdb.nometasync", "true or false; MDB_NOMETASYNC: sync the pages at a commit, not the meta page",
       "by durability class"},
      {"lmdb.writemap", "MDB_WRITEMAP: write through the memory map; requires lmdb.map_bytes", "false"},
      {"lmdb.mapasync",
       "MDB_MAPASYNC: a commit starts its syncs and does not wait for them; requires lmdb.writemap; no effect with "
       "lmdb.nosync",
       "false"},
      {"lmdb.nordahead", "MDB_NORDAHEAD: no read-ahead; helps loads and random reads of a database larger than memory",
       "false"},
      {"lmdb.allow_concurrent",
       "share the database with other drivers at the same time; each of them must set this option", "false"},
      {"lmdb.nomeminit", "MDB_NOMEMINIT: do not zero unused parts of pages before they are written", "false"},
  };
  return options;
}

struct CloseEnvironment {
  void operator()(MDB_env* environment) const { mdb_env_close(environment); }
};

struct Settings {
  std::uint64_t map_bytes = default_map_bytes;
  unsigned readers = 0;
  bool nosync = false;
  bool nometasync = false;
  bool writemap = false;
  bool mapasync = false;
  bool nordahead = false;
  bool nomeminit = false;
  bool allow_concurrent = false;

  [[nodiscard]] unsigned flags() const {
    // MDB_NOTLS: a session may move between threads.
    return MDB_NOTLS | (nosync ? MDB_NOSYNC : 0U) | (nometasync ? MDB_NOMETASYNC : 0U) |
           (writemap ? MDB_WRITEMAP : 0U) | (mapasync ? MDB_MAPASYNC : 0U) | (nordahead ? MDB_NORDAHEAD : 0U) |
           (nomeminit ? MDB_NOMEMINIT : 0U);
  }
};

Settings taken(const Properties& properties, Durability durability) {
  Settings settings;
  settings.map_bytes = bounded_option(properties, "lmdb.map_bytes", default_map_bytes, map_bytes_min,
                                      std::numeric_limits<std::ptrdiff_t>::max());
  const std::uint64_t threads = properties.get_u64("threadcount", 1);
  settings.readers = static_cast<unsigned>(bounded_option(
      properties, "lmdb.max_readers", std::max(library_readers, threads + readers_to_spare), 1, readers_max));
  settings.nosync = properties.get_bool("lmdb.nosync", durability != Durability::power);
  settings.nometasync = properties.get_bool("lmdb.nometasync", durability == Durability::process && !settings.nosync);
  settings.writemap = properties.get_bool("lmdb.writemap", false);
  settings.mapasync = properties.get_bool("lmdb.mapasync", false);
  settings.nordahead = properties.get_bool("lmdb.nordahead", false);
  settings.nomeminit = properties.get_bool("lmdb.nomeminit", false);
  settings.allow_concurrent = properties.get_bool("lmdb.allow_concurrent", false);
  if (settings.mapasync && !settings.writemap) {
    throw UsageError(fmt::format("{}: property lmdb.mapasync=true: expected lmdb.writemap=true as well",
                                 properties.origin("lmdb.mapasync")));
  }
  if (settings.writemap && !properties.has("lmdb.map_bytes")) {
    throw UsageError(
        fmt::format("{}: property lmdb.writemap=true: LMDB then makes the file as long as the map at once (sparse): "
                    "expected lmdb.map_bytes beside it, the largest size the database may reach",
                    properties.origin("lmdb.writemap")));
  }
  return settings;
}

// LMDB syncs the pages of a commit, then the meta page that makes them valid. lmdb_test.cc checks these counts.
std::uint64_t syncs_of_a_commit(const Settings& settings) {
  if (settings.nosync || settings.mapasync) return 0;
  return settings.nometasync ? 1 : 2;
}

std::string sync_description(const Settings& settings) {
  if (settings.nosync) {
    return "MDB_NOSYNC: a commit is handed to the operating system and not synced; after a power cut the database may "
           "not open";
  }
  if (settings.mapasync) return "MDB_MAPASYNC: a commit begins its syncs and does not wait for them";
  if (settings.nometasync) {
    return "MDB_NOMETASYNC: a commit syncs its pages before it is acknowledged; the meta page that makes them valid is "
           "synced with the next commit";
  }
  return "a commit syncs its pages, then the meta page that makes them valid, before it is acknowledged";
}

// Every setting passes a commit to the operating system, which is sufficient for class process.
bool promise_holds(const Settings& settings, Durability durability) {
  if (durability != Durability::power) return true;
  return !settings.nosync && !settings.mapasync && !settings.nometasync;
}

class Lmdb final : public KeyValueDatabase {
 public:
  Lmdb() : KeyValueDatabase("lmdb", {"LMDB", "lmdb.path", "data.mdb", ""}, option_help()) {}

  [[nodiscard]] std::string close() override;
  [[nodiscard]] std::unique_ptr<Session> session() override;
  Status flush() override;
  Settled settle(std::uint64_t timeout_ns) override;
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] std::map<std::string, std::string> options() const override;
  [[nodiscard]] std::string durability_how() const override;
  [[nodiscard]] std::vector<Component> components() const override;
  [[nodiscard]] std::map<std::string, std::string> stats() const override;
  [[nodiscard]] std::optional<std::uint64_t> record_count(std::uint64_t /*timeout_ns*/) const override {
    return table_stat().ms_entries;
  }
  [[nodiscard]] bool insert_replaces() const override { return true; }

 private:
  void take_options(const Properties& properties) override { settings_ = taken(properties, durability()); }
  void open_library(const Properties& properties, bool create, EventSink sink) override;
  [[nodiscard]] int open_environment();
  [[nodiscard]] int open_table();
  void check_that_the_file_is_there() const;
  void check_that_the_file_is_whole() const;
  [[nodiscard]] std::uint64_t free_pages_from(std::uint64_t page) const;
  [[nodiscard]] std::string file() const { return path() + "/data.mdb"; }
  [[nodiscard]] std::string map_fault_text() const {
    return fmt::format("LMDB: a page of {} cannot be read: the file was truncated, or its disk failed; load again",
                       file());
  }
  [[nodiscard]] MDB_envinfo environment_info() const;
  [[nodiscard]] MDB_stat table_stat() const;

  Settings settings_;
  std::unique_ptr<MapFaultMessage> map_fault_;  // must outlive the map
  ExclusiveUse exclusive_use_;
  std::unique_ptr<MDB_env, CloseEnvironment> environment_;
  MDB_dbi table_ = 0;
};

int Lmdb::open_environment() {
  MDB_env* made = nullptr;
  int code = mdb_env_create(&made);
  environment_.reset(made);
  if (code == MDB_SUCCESS) code = mdb_env_set_mapsize(made, static_cast<std::size_t>(settings_.map_bytes));
  if (code == MDB_SUCCESS) code = mdb_env_set_maxreaders(made, settings_.readers);
  if (code == MDB_SUCCESS) code = mdb_env_open(made, path().c_str(), settings_.flags(), file_mode);
  int dead_readers = 0;  // entries of killed processes, which would prevent the reuse of old pages
  if (code == MDB_SUCCESS) code = mdb_reader_check(made, &dead_readers);
  return code;
}

int Lmdb::open_table() {
  MDB_txn* begun = nullptr;
  int code = mdb_txn_begin(environment_.get(), nullptr, MDB_RDONLY, &begun);
  LmdbTransaction transaction(begun);
  if (code == MDB_SUCCESS) code = mdb_dbi_open(begun, nullptr, 0, &table_);
  return code == MDB_SUCCESS ? mdb_txn_commit(transaction.release()) : code;
}

void Lmdb::open_library(const Properties& /*properties*/, bool create, EventSink /*sink*/) {
  exclusive_use_.take(file(), create, "lmdb", settings_.allow_concurrent);
  std::error_code ignored;  // LMDB reports the error
  if (!create && std::filesystem::file_size(file(), ignored) == 0) {
    throw DatabaseError(fmt::format("{} is empty: the database file was truncated; load again", file()));
  }
  map_fault_ = std::make_unique<MapFaultMessage>(map_fault_text());
  int code = open_environment();
  if (code == MDB_SUCCESS) check_that_the_file_is_whole();
  if (code == MDB_SUCCESS) code = open_table();
  if (code != MDB_SUCCESS) {
    throw DatabaseError(
        fmt::format("cannot open the LMDB database at {}: {}", path(), lmdb_failure(environment_.get(), code)));
  }
}

// LMDB opens a file that is shorter than its database, and the first read beyond the end raises SIGBUS. The only pages
// that are legitimately missing are those freed in the transaction that allocated them, because LMDB never writes
// these.
void Lmdb::check_that_the_file_is_whole() const {
  mdb_filehandle_t descriptor = -1;
  struct stat status {};
  if (mdb_env_get_fd(environment_.get(), &descriptor) != MDB_SUCCESS || fstat(descriptor, &status) != 0) {
    throw DatabaseError(fmt::format("LMDB: cannot inspect {}", file()));
  }
  const std::uint64_t page_bytes = table_stat().ms_psize;
  const std::uint64_t pages = environment_info().me_last_pgno + 1;
  const auto pages_there = static_cast<std::uint64_t>(status.st_size) / page_bytes;
  if (pages_there >= pages) return;
  const auto cut_short = fmt::format("LMDB: {} has {} bytes, but its database {}: it was truncated; load again", file(),
                                     status.st_size, pages * page_bytes);
  map_fault_->say(cut_short);  // the list of free pages itself may be in the missing part
  if (free_pages_from(pages_there) != pages - pages_there) throw DatabaseError(cut_short);
  map_fault_->say(map_fault_text());
}

// The number of free pages with that number or a higher one.
std::uint64_t Lmdb::free_pages_from(std::uint64_t page) const {
  constexpr MDB_dbi free_list = 0;  // per transaction: a count, then that many page numbers
  MDB_txn* begun = nullptr;
  if (mdb_txn_begin(environment_.get(), nullptr, MDB_RDONLY, &begun) != MDB_SUCCESS) return 0;
  const LmdbTransaction transaction(begun);
  MDB_cursor* cursor = nullptr;
  if (mdb_cursor_open(begun, free_list, &cursor) != MDB_SUCCESS) return 0;
  std::uint64_t found = 0;
  MDB_val key{};
  MDB_val value{};
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
    const auto* const numbers = static_cast<const std::size_t*>(value.mv_data);
    found += static_cast<std::uint64_t>(
        std::count_if(numbers + 1, numbers + 1 + numbers[0], [page](std::size_t number) { return number >= page; }));
  }
  mdb_cursor_close(cursor);
  return found;
}

std::string Lmdb::close() {
  environment_.reset();
  map_fault_.reset();
  exclusive_use_.release();
  return {};
}

std::unique_ptr<Session> Lmdb::session() { return std::make_unique<LmdbSession>(*environment_, table_, locks()); }

Status Lmdb::flush() {
  constexpr int whatever_the_flags = 1;
  const int code = mdb_env_sync(environment_.get(), whatever_the_flags);
  return flushed("sync", code == MDB_SUCCESS ? "" : lmdb_failure(nullptr, code));
}

// Syncing a file that was removed succeeds, so its presence is checked.
void Lmdb::check_that_the_file_is_there() const {
  mdb_filehandle_t descriptor = -1;
  struct stat open_file {};
  struct stat named_file {};
  const std::string name = file();
  const bool same = mdb_env_get_fd(environment_.get(), &descriptor) == MDB_SUCCESS &&
                    fstat(descriptor, &open_file) == 0 && stat(name.c_str(), &named_file) == 0 &&
                    open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
  if (!same) throw DatabaseError(fmt::format("LMDB: {} is no longer the open file: its rows are lost", name));
}

Settled Lmdb::settle(std::uint64_t /*timeout_ns*/) {
  if (flush() != Status::ok) throw DatabaseError(flush_error());
  check_that_the_file_is_there();
  return {true, "mdb_env_sync: all pages synced; LMDB has no log and no background work"};
}

std::string Lmdb::version() const {
  int major = 0;
  int minor = 0;
  int patch = 0;
  mdb_version(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

MDB_envinfo Lmdb::environment_info() const {
  MDB_envinfo info{};
  if (const int code = mdb_env_info(environment_.get(), &info); code != MDB_SUCCESS) {
    throw DatabaseError(fmt::format("LMDB: {}does not report its state: {}", path(), mdb_strerror(code)));
  }
  return info;
}

MDB_stat Lmdb::table_stat() const {
  MDB_stat stat{};
  if (const int code = mdb_env_stat(environment_.get(), &stat); code != MDB_SUCCESS) {
    throw DatabaseError(fmt::format("LMDB: {} does not report its size: {}", path(), mdb_strerror(code)));
  }
  return stat;
}

std::map<std::string, std::string> Lmdb::options() const {
  unsigned flags = 0;
  unsigned readers = 0;
  if (mdb_env_get_flags(environment_.get(), &flags) != MDB_SUCCESS ||
      mdb_env_get_maxreaders(environment_.get(), &readers) != MDB_SUCCESS) {
    throw DatabaseError("LMDB: cannot read back its options");
  }
  return {
      {"nosync", fmt::to_string((flags & MDB_NOSYNC) != 0)},
      {"nometasync", fmt::to_string((flags & MDB_NOMETASYNC) != 0)},
      {"writemap", fmt::to_string((flags & MDB_WRITEMAP) != 0)},
      {"mapasync", fmt::to_string((flags & MDB_MAPASYNC) != 0)},
      {"nordahead", fmt::to_string((flags & MDB_NORDAHEAD) != 0)},
      {"nomeminit", fmt::to_string((flags & MDB_NOMEMINIT) != 0)},
      {"mapsize", std::to_string(environment_info().me_mapsize)},
      {"maxreaders", std::to_string(readers)},
      {"page_size", std::to_string(table_stat().ms_psize)},
      {"maxkeysize", std::to_string(mdb_env_get_maxkeysize(environment_.get()))},
  };
}

std::string Lmdb::durability_how() const {
  std::string how = fmt::format("{}: {}", name_of(durability()), sync_description(settings_));
  if (settings_.writemap) how += "; MDB_WRITEMAP: pages are written through the memory map";
  if (!promise_holds(settings_, durability())) how += "; set by an option: the promise of the class does not hold";
  return how;
}

// LMDB counts commits but not syncs. The flags determine the syncs per commit.
std::vector<Component> Lmdb::components() const {
  const std::uint64_t commits = environment_info().me_last_txnid;
  return {Component{.name = "commit",
                    .count = commits,
                    .duration_ns = std::nullopt,
                    .read_bytes = std::nullopt,
                    .write_bytes = std::nullopt,
                    .syncs = commits * syncs_of_a_commit(settings_)}};
}

std::map<std::string, std::string> Lmdb::stats() const {
  if (!environment_) return {};
  const MDB_envinfo info = environment_info();
  const MDB_stat stat = table_stat();
  return {
      {"last_txnid", std::to_string(info.me_last_txnid)}, {"last_pgno", std::to_string(info.me_last_pgno)},
      {"numreaders", std::to_string(info.me_numreaders)}, {"entries", std::to_string(stat.ms_entries)},
      {"depth", std::to_string(stat.ms_depth)},           {"branch_pages", std::to_string(stat.ms_branch_pages)},
      {"leaf_pages", std::to_string(stat.ms_leaf_pages)}, {"overflow_pages", std::to_string(stat.ms_overflow_pages)},
  };
}

}  // namespace

AdapterInfo lmdb_adapter() {
  return {"lmdb", "LMDB: copy-on-write B+tree in a memory map, in process", option_help(),
          [] { return std::make_unique<Lmdb>(); }};
}

}  // namespace edgejoule::driver
