// Tests specific to SQLite: busy, checkpoints at SQLite's own moments, settings by durability class.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "open_database.h"

namespace edgejoule::driver {
namespace {

class OwnConnection {
 public:
  explicit OwnConnection(const std::filesystem::path& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK); }
  ~OwnConnection() { sqlite3_close(db_); }
  OwnConnection(const OwnConnection&) = delete;
  OwnConnection& operator=(const OwnConnection&) = delete;

  void execute(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
  }

  // The first column of the first row.
  std::string text(const std::string& sql) {
    std::string found;
    const auto keep = [](void* out, int, char** values, char**) {
      *static_cast<std::string*>(out) = values[0];
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), keep, &found, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
    return found;
  }

 private:
  sqlite3* db_ = nullptr;
};

TEST(Sqlite, says_busy_when_another_writer_holds_the_lock) {
  TestDatabase database("sqlite");
  database.set("busy_timeout_ms", "0");
  database.open();
  const auto session = database->session();
  ASSERT_EQ(session->insert("user1", TestRow("user1").fields()), Status::ok) << session->error();
  OwnConnection other(database.path());
  other.execute("BEGIN IMMEDIATE");
  EXPECT_EQ(session->update("user1", TestRow("user1", 1).fields()), Status::busy);
  EXPECT_NE(session->error().find("locked"), std::string::npos) << session->error();
  const std::vector<Record> records = {{"user2", TestRow("user2").fields()}};
  EXPECT_EQ(session->insert_batch(records), Status::busy);
  other.execute("COMMIT");
  EXPECT_EQ(session->update("user1", TestRow("user1", 1).fields()), Status::ok) << session->error();
}

TEST(Sqlite, does_not_settle_under_a_reader) {
  TestDatabase database("sqlite");
  database.set("busy_timeout_ms", "0");
  database.open();
  ASSERT_EQ(database->session()->insert("user1", TestRow("user1").fields()), Status::ok);
  OwnConnection reader(database.path());
  reader.execute("BEGIN; SELECT count(*) FROM usertable");
  ASSERT_EQ(database->session()->insert("user2", TestRow("user2").fields()), Status::ok);
  EXPECT_FALSE(database->settle(20'000'000).complete);
  reader.execute("COMMIT");
  EXPECT_TRUE(database->settle(20'000'000).complete);
}

TEST(Sqlite, an_insert_of_a_key_that_exists_is_an_error) {
  TestDatabase database("sqlite");
  database.open();
  const auto session = database->session();
  ASSERT_EQ(session->insert("user1", TestRow("user1").fields()), Status::ok);
  EXPECT_EQ(session->insert("user1", TestRow("user1", 1).fields()), Status::error);
  EXPECT_NE(session->error().find("user1"), std::string::npos) << session->error();
}

TEST(Sqlite, a_batch_that_fails_leaves_nothing_behind) {
  TestDatabase database("sqlite");
  database.open();
  const auto session = database->session();
  const TestRow row("user1");
  const std::vector<Record> records = {{"user1", row.fields()}, {"user2", row.fields()}, {"user1", row.fields()}};
  EXPECT_EQ(session->insert_batch(records), Status::error);
  EXPECT_NE(session->error().find("UNIQUE"), std::string::npos) << session->error();
  Row found;
  EXPECT_EQ(session->read("user2", {}, found), Status::not_found);
}

// The same commits on a connection with SQLite's own checkpoints leave files of the same size.
TEST(Sqlite, checkpoints_where_sqlite_would_by_itself) {
  TestDatabase watched("sqlite");
  TestDatabase by_itself("sqlite");
  watched.open();
  by_itself.open();
  ASSERT_EQ(watched.close(), "");
  ASSERT_EQ(by_itself.close(), "");
  watched.open(false);
  OwnConnection plain(by_itself.path());
  plain.execute("PRAGMA synchronous=NORMAL");
  const auto session = watched->session();
  int checkpoints = 0;
  for (int number = 0; number < 2500; ++number) {
    const std::string key = test_key(number);
    const TestRow row(key, 0, 100);
    ASSERT_EQ(session->insert(key, row.fields()), Status::ok);
    std::string values = "'" + key + "'";
    for (const Field& field : row.fields()) {
      values += ",'";
      for (const char letter : field.value) values += letter == '\'' ? std::string("''") : std::string(1, letter);
      values += "'";
    }
    plain.execute("INSERT INTO usertable VALUES (" + values + ")");
    checkpoints += static_cast<int>(watched.events().take().size());
    const auto size = [](const std::filesystem::path& path) { return std::filesystem::file_size(path); };
    ASSERT_EQ(size(watched.path()), size(by_itself.path())) << number;
    ASSERT_EQ(size(watched.path().string() + "-wal"), size(by_itself.path().string() + "-wal")) << number;
  }
  EXPECT_GT(checkpoints, 2);
}

TEST(Sqlite, maps_each_durability_class_to_its_own_settings) {
  const std::map<Durability, std::string> synchronous = {
      {Durability::none, "0"}, {Durability::process, "1"}, {Durability::power, "2"}};
  for (const auto& [durability, level] : synchronous) {
    TestDatabase database("sqlite");
    database.open(true, durability);
    EXPECT_EQ(database->options()["synchronous"], level);
    EXPECT_EQ(database->options()["journal_mode"], "wal");
    EXPECT_EQ(database->durability_how().find("does not hold"), std::string::npos) << database->durability_how();
  }
}

TEST(Sqlite, a_power_cut_asks_for_more_than_full_only_where_the_journal_is_deleted) {
  const std::map<std::string, std::string> synchronous = {
      {"wal", "2"}, {"truncate", "2"}, {"persist", "2"}, {"delete", "3"}};
  for (const auto& [mode, level] : synchronous) {
    TestDatabase database("sqlite");
    database.set("journal_mode", mode);
    database.open(true, Durability::power);
    EXPECT_EQ(database->options()["synchronous"], level) << mode;
    EXPECT_EQ(database->durability_how().find("does not hold"), std::string::npos) << database->durability_how();
  }
}

std::vector<std::string> keys_from(Session& session, std::string_view start) {
  std::vector<Row> rows;
  EXPECT_EQ(session.scan(start, 100, {}, rows), Status::ok) << session.error();
  std::vector<std::string> keys;
  for (const Row& row : rows) keys.emplace_back(row.key);
  return keys;
}

TEST(Sqlite, keeps_integer_keys_in_the_order_of_numbers) {
  TestDatabase database("sqlite");
  database.set_other("keytype", "integer");
  database.open();
  const auto session = database->session();
  for (const char* key : {"10", "9", "-1", "2000000000000"}) {
    ASSERT_EQ(session->insert(key, TestRow(key).fields()), Status::ok) << session->error();
  }
  EXPECT_EQ(keys_from(*session, "-5"), (std::vector<std::string>{"-1", "9", "10", "2000000000000"}));
  EXPECT_EQ(keys_from(*session, "10"), (std::vector<std::string>{"10", "2000000000000"}));
  Row row;
  ASSERT_EQ(session->read("9", {}, row), Status::ok);
  EXPECT_EQ(as_map(row), as_map(TestRow("9")));
  EXPECT_EQ(session->update("10", TestRow("10", 1).fields()), Status::ok);
  EXPECT_EQ(session->remove("9"), Status::ok);
  EXPECT_EQ(session->read("9", {}, row), Status::not_found);
  EXPECT_NE(database->options()["table"].find("YCSB_KEY INTEGER PRIMARY KEY"), std::string::npos);
}

TEST(Sqlite, refuses_a_key_that_is_no_integer_where_keys_are) {
  TestDatabase database("sqlite");
  database.set_other("keytype", "integer");
  database.open();
  const auto session = database->session();
  Row row;
  std::vector<Row> rows;
  for (const char* key : {"user1", "", "1.5", "1 ", "9223372036854775808"}) {
    EXPECT_EQ(session->insert(key, TestRow("1").fields()), Status::error) << key;
    EXPECT_NE(session->error().find("expected digits"), std::string::npos) << session->error();
    EXPECT_EQ(session->read(key, {}, row), Status::error) << key;
    EXPECT_EQ(session->scan(key, 1, {}, rows), Status::error) << key;
    EXPECT_EQ(session->remove(key), Status::error) << key;
  }
}

TEST(Sqlite, stores_keys_and_values_as_blobs_if_asked) {
  TestDatabase database("sqlite");
  database.set_other("keytype", "blob");
  database.set_other("fieldtype", "blob");
  database.open();
  const auto session = database->session();
  const std::string key("\0\xFFkey", 5);
  ASSERT_EQ(session->upsert(key, TestRow("user1").fields()), Status::ok) << session->error();
  EXPECT_EQ(keys_from(*session, std::string_view("\0", 1)), (std::vector<std::string>{key}));
  Row row;
  ASSERT_EQ(session->read(key, {}, row), Status::ok);
  EXPECT_EQ(as_map(row), as_map(TestRow("user1")));
  EXPECT_EQ(OwnConnection(database.path()).text("SELECT typeof(YCSB_KEY) || typeof(field3) FROM usertable"),
            "blobblob");
}

TEST(Sqlite, runs_on_tables_whose_keys_are_text_of_any_name) {
  for (const auto* type : {"VARCHAR", "varchar(40)", "TEXT"}) {
    TestDatabase database("sqlite");
    std::string columns;
    for (int i = 0; i < TestRow::field_count; ++i) columns += ", FIELD" + std::to_string(i) + " TEXT";
    OwnConnection(database.path())
        .execute(std::string("CREATE TABLE usertable (YCSB_KEY ") + type + " PRIMARY KEY" + columns + ")");
    database.open(false);
    const auto session = database->session();
    EXPECT_EQ(session->insert("user1", TestRow("user1").fields()), Status::ok) << type;
    Row row;
    EXPECT_EQ(session->read("user1", {}, row), Status::ok) << type;
  }
}

TEST(Sqlite, refuses_a_table_with_keys_of_another_type) {
  TestDatabase database("sqlite");
  database.open();
  ASSERT_EQ(database.close(), "");
  database.set_other("keytype", "integer");
  try {
    database.open(false);
    FAIL() << "opened";
  } catch (const DatabaseError& error) {
    EXPECT_NE(std::string(error.what()).find("its keys are VARCHAR(255), expected INTEGER"), std::string::npos)
        << error.what();
  }
}

TEST(Sqlite, an_exclusive_connection_serves_one_session_and_settles) {
  TestDatabase database("sqlite");
  database.set("locking_mode", "exclusive");
  database.open();
  EXPECT_EQ(database->options()["locking_mode"], "exclusive");
  {
    const auto session = database->session();
    ASSERT_EQ(session->insert("user1", TestRow("user1").fields()), Status::ok) << session->error();
    EXPECT_THROW(static_cast<void>(database->session()), DatabaseError);
    EXPECT_FALSE(std::filesystem::exists(database.path().string() + "-shm"));
    const Settled settled = database->settle(1'000'000'000);
    EXPECT_TRUE(settled.complete) << settled.how;
    ASSERT_EQ(session->insert("user2", TestRow("user2").fields()), Status::ok) << session->error();
  }
  Row row;
  EXPECT_EQ(database->session()->read("user2", {}, row), Status::ok);
}

TEST(Sqlite, says_when_an_explicit_setting_breaks_the_class_s_promise) {
  TestDatabase database("sqlite");
  database.set("synchronous", "off");
  database.open(true, Durability::power);
  EXPECT_EQ(database->options()["synchronous"], "0");
  EXPECT_NE(database->durability_how().find("does not hold"), std::string::npos) << database->durability_how();
}

TEST(Sqlite, works_in_every_journal_mode_and_without_rowid) {
  for (const char* mode : {"wal", "delete", "truncate", "persist", "memory", "off"}) {
    TestDatabase database("sqlite");
    database.set("journal_mode", mode);
    database.set("without_rowid", "true");
    database.open();
    ASSERT_EQ(database->session()->insert("user1", TestRow("user1").fields()), Status::ok) << mode;
    const Settled settled = database->settle(1'000'000'000);
    EXPECT_TRUE(settled.complete) << mode << ": " << settled.how;
    EXPECT_EQ(database->options()["journal_mode"], mode);
    Row row;
    EXPECT_EQ(database->session()->read("user1", {}, row), Status::ok) << mode;
  }
}

TEST(Sqlite, settling_that_a_reader_holds_up_ends_with_the_time_limit_and_is_no_failure) {
  TestDatabase database("sqlite");
  database.set("busy_timeout_ms", "5");
  database.open();
  ASSERT_EQ(database->session()->insert("user1", TestRow("user1").fields()), Status::ok);
  OwnConnection reader(database.path());
  reader.execute("BEGIN; SELECT * FROM usertable");
  ASSERT_EQ(database->session()->insert("user2", TestRow("user2").fields()), Status::ok);
  const Settled held_up = database->settle(1'000'000);
  EXPECT_FALSE(held_up.complete) << held_up.how;
  EXPECT_NE(held_up.how.find("time limit"), std::string::npos) << held_up.how;
  reader.execute("COMMIT");
  EXPECT_TRUE(database->settle(5'000'000'000).complete);
}

// With SQLite's wait of sqlite.busy_timeout_ms, the first attempt alone would exceed the limit.
TEST(Sqlite, settling_tries_again_within_its_limit_whatever_the_busy_timeout) {
  TestDatabase database("sqlite");
  database.set("busy_timeout_ms", "5000");
  database.open();
  ASSERT_EQ(database->session()->insert("user1", TestRow("user1").fields()), Status::ok);
  OwnConnection reader(database.path());
  reader.execute("BEGIN; SELECT * FROM usertable");
  ASSERT_EQ(database->session()->insert("user2", TestRow("user2").fields()), Status::ok);
  EXPECT_FALSE(database->settle(1'000'000'000).complete);
  EXPECT_GT(std::stoi(database->stats()["checkpoints_busy"]), 1);
  EXPECT_EQ(database->options()["busy_timeout"], "5000");
}

TEST(Sqlite, settling_with_a_rollback_journal_is_not_held_up_by_another_writer) {
  TestDatabase database("sqlite");
  database.set("journal_mode", "delete");
  database.open();
  ASSERT_EQ(database->session()->insert("user1", TestRow("user1").fields()), Status::ok);
  OwnConnection writer(database.path());
  writer.execute("BEGIN EXCLUSIVE");
  EXPECT_TRUE(database->settle(1'000'000'000).complete);
}

int (*real_lock)(sqlite3_file*, int, int, int) = nullptr;
int recoveries = 0;

// Simulates another process that recovers the WAL: the first request for the checkpoint lock fails with SQLite's code
// for it.
int lock_that_recovers_first(sqlite3_file* file, int offset, int count, int flags) {
  constexpr int checkpoint_lock = 1;
  const bool asks = (flags & SQLITE_SHM_LOCK) != 0 && (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  if (asks && offset == checkpoint_lock && recoveries++ == 0) return SQLITE_BUSY_RECOVERY;
  return real_lock(file, offset, count, flags);
}

TEST(Sqlite, settling_goes_on_after_every_kind_of_busy) {
  TestDatabase database("sqlite");
  database.open();
  ASSERT_EQ(database->session()->insert("user1", TestRow("user1").fields()), Status::ok);
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs shim;
  static sqlite3_vfs* wrapped = nullptr;
  wrapped = system;
  shim = *system;
  shim.zName = "recovering";
  shim.xOpen = [](sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    const int code = wrapped->xOpen(wrapped, name, file, flags, out_flags);
    if (code != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return code;
    static sqlite3_io_methods methods;
    methods = *file->pMethods;
    real_lock = methods.xShmLock;
    methods.xShmLock = lock_that_recovers_first;
    file->pMethods = &methods;
    return code;
  };
  ASSERT_EQ(database.close(), "");
  sqlite3_vfs_register(&shim, 1);
  database.open(false);
  ASSERT_EQ(database->session()->insert("user2", TestRow("user2").fields()), Status::ok);
  recoveries = 0;
  const Settled settled = database->settle(5'000'000'000);
  EXPECT_TRUE(settled.complete) << settled.how;
  EXPECT_GT(recoveries, 1);
  ASSERT_EQ(database.close(), "");
  sqlite3_vfs_register(system, 1);
  sqlite3_vfs_unregister(&shim);
}

TEST(Sqlite, refuses_another_page_size_than_the_database_has) {
  TestDatabase database("sqlite");
  database.open();
  ASSERT_EQ(database.close(), "");
  database.set("page_size_bytes", "8192");
  EXPECT_THROW(database.open(false), DatabaseError);
}

TEST(Sqlite, refuses_a_page_size_that_sqlite_ignores) {
  TestDatabase database("sqlite");
  database.set("page_size_bytes", "5000");
  EXPECT_THROW(database.open(), DatabaseError);
}

TEST(Sqlite, keeps_its_file_in_a_directory_that_is_there) {
  TestDatabase database("sqlite");
  std::filesystem::create_directory(database.path());
  database.open();
  EXPECT_TRUE(std::filesystem::exists(database.path() / "usertable.sqlite"));
  EXPECT_EQ(database->path(), database.path().string());
}

}  // namespace
}  // namespace edgejoule::driver
