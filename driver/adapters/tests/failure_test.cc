// A database that fails returns a message, and nothing crashes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "adapters/registry.h"
#include "open_database.h"

#ifdef EDGEJOULE_LEVELDB
#include <leveldb/db.h>
#endif
#ifdef EDGEJOULE_LMDB
#include <lmdb.h>
#endif
#include <lunar.h>
#include <posix.h>
#ifdef EDGEJOULE_ROCKSDB
#include <rocksdb/db.h>
#endif
#ifdef EDGEJOULE_SQLITE
#include <sqlite3.h>
#endif

namespace edgejoule::driver {
namespace {

// Limits the size of files during its life: a full disk for this process only.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : former_handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &former_);
    const rlimit limited{bytes, former_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &former_);
    signal(SIGXFSZ, former_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  sighandler_t former_handler_;
  rlimit former_{};
};

class Failure : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Adapters, Failure, testing::ValuesIn(keeping_adapters()),
                         [](const auto& adapter) { return adapter.param; });

std::string open_error(TestDatabase& database) {
  try {
    database.open();
  } catch (const DatabaseError& error) {
    return error.what();
  }
  return "it opened";
}

TEST_P(Failure, a_file_that_cannot_grow_is_an_error_with_the_database_s_message) {
  TestDatabase database(GetParam());
  database.open();
  Status status = Status::ok;
  std::string error;
  {
    const FileSizeLimit limit(256 * 1024);
    const auto session = database->session();
    for (int number = 0; status == Status::ok && number < 5000; ++number) {
      const std::string key = test_key(number);
      status = session->insert(key, TestRow(key, 0, 100).fields());
      error = session->error();
    }
  }
  EXPECT_EQ(status, Status::error);
  // LMDB writes several pages in one call, and reports an incomplete one as an input/output error.
  const bool cut_short =
      GetParam() == "lmdb" && error.find("LMDB also reports this after an incomplete write") != std::string::npos;
  EXPECT_TRUE(cut_short || error.find("File too large") != std::string::npos) << error;
  EXPECT_NE(error.find("user0"), std::string::npos) << error;
}

void load(TestDatabase& database, int rows) {
  const auto session = database->session();
  for (int number = 0; number < rows; ++number) {
    const std::string key = test_key(number);
    ASSERT_EQ(session->insert(key, TestRow(key, 0, 100).fields()), Status::ok) << session->error();
  }
}

std::string settle_error(TestDatabase& database) {
  constexpr std::uint64_t time_limit_ns = 30'000'000'000;
  try {
    return "no failure, but: " + database->settle(time_limit_ns).how;
  } catch (const DatabaseError& error) {
    return error.what();
  }
}

class SettlingFailure : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Adapters, SettlingFailure, testing::ValuesIn(logging_adapters()),
                         [](const auto& adapter) { return adapter.param; });

TEST_P(SettlingFailure, of_a_database_that_cannot_write_is_the_databases_message) {
  TestDatabase database(GetParam());
  database.open();
  load(database, 500);
  const FileSizeLimit limit(64 * 1024);
  const std::string error = settle_error(database);
  EXPECT_NE(error.find("File too large"), std::string::npos) << error;
}

TEST_P(Failure, settling_without_its_directory_has_failed) {
  TestDatabase database(GetParam());
  database.open();
  load(database, 500);
  std::filesystem::remove_all(database.directory());
  const std::string error = settle_error(database);
  EXPECT_NE(error.find(database.path().string()), std::string::npos) << error;
  EXPECT_EQ(error.find("no failure"), std::string::npos) << error;
}

#ifdef EDGEJOULE_ROCKSDB
TEST(Failure, a_compaction_of_rocksdb_that_fails_while_settling_is_a_failure) {
  TestDatabase database("rocksdb");
  database.set("options",
               "write_buffer_size=16777216;level0_file_num_compaction_trigger=3;compression=kNoCompression;"
               "target_file_size_base=67108864");
  database.open();
  for (int table = 0; table < 2; ++table) {
    load(database, 200);
    ASSERT_EQ(database->flush(), Status::ok) << database->flush_error();
  }
  const auto session = database->session();
  for (int number = 200; number < 300; ++number) {
    const std::string key = test_key(number % 250);
    ASSERT_EQ(session->insert(key, TestRow(key, 0, 100).fields()), Status::ok) << session->error();
  }
  // The table of the last rows fits; that of the compaction does not.
  const FileSizeLimit limit(200 * 1024);
  const std::string error = settle_error(database);
  EXPECT_NE(error.find("File too large"), std::string::npos) << error;
}
#endif

void damage_row(const std::string& adapter, const std::string& path, const std::string& key) {
#ifdef EDGEJOULE_LEVELDB
  if (adapter == "leveldb") {
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open({}, path, &opened).ok());
    const std::unique_ptr<leveldb::DB> db(opened);
    ASSERT_TRUE(db->Put({}, key, "no row").ok());
  }
#endif
#ifdef EDGEJOULE_LMDB
  if (adapter == "lmdb") {
    MDB_env* environment = nullptr;
    MDB_txn* transaction = nullptr;
    std::string row = "no row";
    MDB_val name{key.size(), const_cast<char*>(key.data())};
    MDB_val value{row.size(), row.data()};
    ASSERT_EQ(mdb_env_create(&environment), MDB_SUCCESS);
    ASSERT_EQ(mdb_env_open(environment, path.c_str(), 0, 0644), MDB_SUCCESS);
    ASSERT_EQ(mdb_txn_begin(environment, nullptr, 0, &transaction), MDB_SUCCESS);
    MDB_dbi unnamed = 0;
    ASSERT_EQ(mdb_dbi_open(transaction, nullptr, 0, &unnamed), MDB_SUCCESS);
    ASSERT_EQ(mdb_put(transaction, unnamed, &name, &value, 0), MDB_SUCCESS);
    ASSERT_EQ(mdb_txn_commit(transaction), MDB_SUCCESS);
    mdb_env_close(environment);
  }
#endif
  if (adapter == "lunar") {
    std::vector<std::uint64_t> buffer(8192);
    lunar_config config{};
    lunar_posix file{};
    lunar db{};
    lunar_table table{};
    config.sector_bytes = 512, config.buffer = buffer.data(), config.buffer_bytes = buffer.size() * 8;
    ASSERT_EQ(lunar_posix_open(&file, &config, path.c_str(), 0), 0);
    ASSERT_EQ(lunar_mount(&db, &config), 0);
    ASSERT_EQ(lunar_table_open(&db, "usertable", &table), 0);
    lunar_value name{};
    name.type = LUNAR_TEXT, name.bytes = static_cast<std::uint32_t>(key.size()), name.as.data = key.data();
    const lunar_value nothing{};
    ASSERT_EQ(lunar_update(&table, &name, 4, &nothing), 0);
    ASSERT_EQ(lunar_unmount(&db), 0);
    lunar_posix_close(&file);
  }
#ifdef EDGEJOULE_ROCKSDB
  if (adapter == "rocksdb") {
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, path, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    ASSERT_TRUE(db->Put({}, key, "no row").ok());
  }
#endif
#ifdef EDGEJOULE_SQLITE
  if (adapter == "sqlite") {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    const std::string sql = "UPDATE usertable SET field3=NULL WHERE YCSB_KEY='" + key + "'";
    ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }
#endif
}

TEST_P(Failure, a_damaged_row_is_unexpected_and_named) {
  TestDatabase database(GetParam());
  database.open();
  for (const char* key : {"user1", "user2", "user3"}) {
    ASSERT_EQ(database->session()->insert(key, TestRow(key).fields()), Status::ok);
  }
  ASSERT_EQ(database.close(), "");
  damage_row(GetParam(), database.path().string(), "user2");
  database.open(false);
  const auto session = database->session();
  Row row;
  EXPECT_EQ(session->read("user1", {}, row), Status::ok);
  EXPECT_EQ(session->read("user2", {}, row), Status::unexpected_state);
  EXPECT_NE(session->error().find("user2"), std::string::npos) << session->error();
  std::vector<Row> rows;
  EXPECT_EQ(session->scan("user1", 10, {}, rows), Status::unexpected_state);
  EXPECT_NE(session->error().find("user2"), std::string::npos) << session->error();
}

TEST_P(Failure, files_of_something_else_are_left_alone) {
  TestDatabase database(GetParam());
  const bool is_file = GetParam() == "sqlite" || GetParam() == "lunar";
  const auto foreign = is_file ? database.path() : database.path() / "notes.txt";
  if (!is_file) std::filesystem::create_directory(database.path());
  std::ofstream(foreign) << "these are the notes of somebody else, and no database at all\n" << std::string(8192, '.');
  const auto bytes = std::filesystem::file_size(foreign);
  const std::string error = open_error(database);
  EXPECT_NE(error.find(database.path().string()), std::string::npos) << error;
  EXPECT_NE(error.find("database"), std::string::npos) << error;
  EXPECT_EQ(std::filesystem::file_size(foreign), bytes);
}

// Another process that opens a database on request. It is forked before this process opens anything, because a fork of
// a process with threads inherits their locks and may block.
class OtherProcess {
 public:
  OtherProcess(const TestDatabase& database, const std::string& adapter, bool concurrent) {
    if (pipe(request_.data()) != 0 || pipe(answer_.data()) != 0) throw std::runtime_error("no pipe");
    child_ = fork();
    if (child_ != 0) {
      close(request_[0]);
      close(answer_[1]);
      return;
    }
    close(request_[1]);
    char go = 0;
    if (read(request_[0], &go, 1) != 1) _exit(0);
    const auto error = error_of_opening(database, adapter, concurrent);
    _exit(write(answer_[1], error.data(), error.size()) < 0 ? 1 : 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() {
    close(request_[1]);
    close(answer_[0]);
    waitpid(child_, nullptr, 0);
  }

  // The error message of opening the database there, empty on success.
  [[nodiscard]] std::string open() const {
    if (write(request_[1], "o", 1) != 1) return "the other process does not run";
    std::array<char, 1000> text{};
    const auto size = read(answer_[0], text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  static std::string error_of_opening(const TestDatabase& database, const std::string& adapter, bool concurrent) {
    try {
      Properties properties;
      properties.set(adapter + ".path", database.path().string());
      if (concurrent) properties.set(adapter + ".allow_concurrent", "true");
      find_adapter(adapter)->make()->open(properties, Durability::process, false, {});
    } catch (const DatabaseError& refused) {
      return refused.what();
    }
    return {};
  }

  std::array<int, 2> request_{};
  std::array<int, 2> answer_{};
  pid_t child_ = 0;
};

TEST_P(Failure, a_database_that_is_open_elsewhere_is_refused) {
  TestDatabase database(GetParam());
  const OtherProcess during(database, GetParam(), false);
  const OtherProcess after(database, GetParam(), false);
  database.open();
  const auto error = during.open();
  EXPECT_NE(error.find(database.path().string()), std::string::npos) << error;
  if (GetParam() == "sqlite" || GetParam() == "lmdb") {
    EXPECT_NE(error.find(fmt::format("is in use by another edgejoule-driver (process {})", getpid())),
              std::string::npos)
        << error;
    ASSERT_EQ(database.close(), "");
    EXPECT_EQ(after.open(), "");
  }
}

TEST(Failure, drivers_share_a_database_when_all_of_them_allow_it) {
  for (const std::string adapter : {"sqlite", "lmdb"}) {
    TestDatabase database(adapter);
    const OtherProcess sharing(database, adapter, true);
    const OtherProcess alone(database, adapter, false);
    database.set("allow_concurrent", "true");
    database.open();
    EXPECT_EQ(sharing.open(), "") << adapter;
    EXPECT_NE(alone.open(), "") << adapter;
  }
}

#if defined(EDGEJOULE_LEVELDB) && defined(EDGEJOULE_ROCKSDB)
TEST(Failure, leveldb_and_rocksdb_do_not_open_each_other_s_databases) {
  TestDatabase level("leveldb");
  level.open();
  TestDatabase rocks("rocksdb");
  rocks.open();
  const std::string level_path = level.path().string();
  const std::string rocks_path = rocks.path().string();
  ASSERT_EQ(level.close(), "");
  ASSERT_EQ(rocks.close(), "");
  Properties properties;
  properties.set("leveldb.path", rocks_path);
  properties.set("rocksdb.path", level_path);
  EXPECT_THROW(find_adapter("leveldb")->make()->open(properties, Durability::process, true, {}), DatabaseError);
  EXPECT_THROW(find_adapter("rocksdb")->make()->open(properties, Durability::process, true, {}), DatabaseError);
}
#endif

#ifdef EDGEJOULE_ROCKSDB
TEST(Failure, rocksdb_refuses_an_options_string_it_cannot_read) {
  TestDatabase database("rocksdb");
  database.set("options", "no_such_option=1");
  EXPECT_THROW(database.open(), UsageError);
}
#endif

}  // namespace
}  // namespace edgejoule::driver
