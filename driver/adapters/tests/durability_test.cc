// Acknowledged writes survive kill -9 of the process, and in class power they are synced first. Mutants fail both
// checks.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "file_calls.h"
#include "open_database.h"

namespace edgejoule::driver {
namespace {

// Runs durable_writer until it has acknowledged `rows` rows, kills it, and returns how many it acknowledged.
int write_and_kill(const std::string& adapter, const std::string& path, const std::string& durability, int rows) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(DURABLE_WRITER, DURABLE_WRITER, adapter.c_str(), path.c_str(), durability.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  FILE* acknowledgements = fdopen(ends[0], "r");
  int acknowledged = 0;
  char line[32];
  // Text still in the pipe after the kill was acknowledged, too.
  while (std::fgets(line, sizeof line, acknowledgements) != nullptr) {
    ++acknowledged;
    if (acknowledged == rows) kill(child, SIGKILL);
  }
  std::fclose(acknowledgements);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? acknowledged : -1;
}

int rows_kept(TestDatabase& database, int acknowledged) {
  const auto session = database->session();
  int kept = 0;
  Row row;
  for (int number = 0; number < acknowledged; ++number) {
    const std::string key = test_key(number);
    const bool whole = session->read(key, {}, row) == Status::ok && as_map(row) == as_map(TestRow(key, 1));
    if (whole) ++kept;
  }
  return kept;
}

class ProcessDeath : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Adapters, ProcessDeath, testing::ValuesIn(keeping_adapters()),
                         [](const auto& adapter) { return adapter.param; });

TEST_P(ProcessDeath, keeps_every_acknowledged_row_of_class_process) {
  TestDatabase database(GetParam());
  constexpr int rows = 3000;
  const int acknowledged = write_and_kill(GetParam(), database.path().string(), "process", rows);
  ASSERT_GE(acknowledged, rows);
  database.open(false);
  EXPECT_EQ(rows_kept(database, acknowledged), acknowledged);
}

TEST_P(ProcessDeath, keeps_every_acknowledged_row_of_class_power) {
  TestDatabase database(GetParam());
  const int acknowledged = write_and_kill(GetParam(), database.path().string(), "power", 20);
  ASSERT_GE(acknowledged, 20);
  database.open(false);
  EXPECT_EQ(rows_kept(database, acknowledged), acknowledged);
}

#ifdef EDGEJOULE_ROCKSDB
// Mutant: without a log the rows of the memtable are lost with the process, and the check above detects it.
TEST(ProcessDeath, loses_rows_of_class_none_on_rocksdb) {
  TestDatabase database("rocksdb");
  const int acknowledged = write_and_kill("rocksdb", database.path().string(), "none", 3000);
  ASSERT_GE(acknowledged, 3000);
  database.open(false);
  EXPECT_LT(rows_kept(database, acknowledged), acknowledged);
}
#endif

constexpr int writes_of_each_kind = 50;

// How many single inserts, updates, removes and batches were acknowledged before their thread had synced a file of the
// database.
int writes_acknowledged_unsynced(TestDatabase& database) {
  const auto session = database->session();
  int unsynced = 0;
  const auto check = [&](const std::function<Status()>& write) {
    const auto before = syncs_by_this_thread(database.directory());
    EXPECT_EQ(write(), Status::ok) << session->error();
    if (syncs_by_this_thread(database.directory()) == before) ++unsynced;
  };
  for (int number = 0; number < writes_of_each_kind; ++number) {
    const std::string key = test_key(number);
    const std::string batch_key = test_key(number + writes_of_each_kind);
    const std::string other_batch_key = test_key(number + 2 * writes_of_each_kind);
    const TestRow row(key);
    const TestRow changed(key, 1);
    const std::vector<Record> batch = {{batch_key, row.fields()}, {other_batch_key, row.fields()}};
    check([&] { return session->insert(key, row.fields()); });
    check([&] { return session->update(key, changed.fields()); });
    check([&] { return session->insert_batch(batch); });
    check([&] { return session->remove(key); });
  }
  return unsynced;
}

class PowerCut : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Adapters, PowerCut, testing::ValuesIn(keeping_adapters()),
                         [](const auto& adapter) { return adapter.param; });

TEST_P(PowerCut, every_write_of_class_power_is_synced_before_it_is_acknowledged) {
  TestDatabase database(GetParam());
  database.open(true, Durability::power);
  EXPECT_EQ(writes_acknowledged_unsynced(database), 0);
}

// Mutant of the check above: the same writes with sync=false (SQLite: synchronous=NORMAL, LMDB: MDB_NOSYNC, lunar: mode
// data).
TEST_P(PowerCut, a_lower_class_acknowledges_without_a_sync) {
  for (const auto durability : {Durability::none, Durability::process}) {
    TestDatabase database(GetParam());
    database.open(true, durability);
    EXPECT_GT(writes_acknowledged_unsynced(database), 4 * writes_of_each_kind * 9 / 10);
  }
}

// Counts all threads together, because another thread may sync a write.
double syncs_of_a_write(const std::string& adapter, Durability durability) {
  constexpr int writes = 200;
  TestDatabase database(adapter);
  database.open(true, durability);
  const auto session = database->session();
  const auto every_file = [](std::string_view) { return true; };
  const std::uint64_t before = file_calls(database.directory(), every_file).syncs;
  for (int number = 0; number < writes; ++number) {
    const std::string key = test_key(number);
    EXPECT_EQ(session->insert(key, TestRow(key).fields()), Status::ok) << session->error();
  }
  return static_cast<double>(file_calls(database.directory(), every_file).syncs - before) / writes;
}

// Databases are compared within a class, so in one class none may sync each write while another does not.
TEST_P(PowerCut, a_write_costs_a_sync_in_class_power_and_none_below) {
  EXPECT_LT(syncs_of_a_write(GetParam(), Durability::none), 0.1);
  EXPECT_LT(syncs_of_a_write(GetParam(), Durability::process), 0.1);
  const double in_power = syncs_of_a_write(GetParam(), Durability::power);
  EXPECT_GE(in_power, 1.0);
  EXPECT_LT(in_power, 2.1) << "LMDB needs two: its pages, then the page that makes them valid";
}

bool says_that_it_syncs(const std::string& adapter, std::map<std::string, std::string> options) {
  if (adapter == "sqlite") return options["synchronous"] == "2";
  if (adapter == "lmdb") return options["nosync"] == "false";
  if (adapter == "lunar") return options["mode"] == "full";
  return options["sync"] == "true";
}

TEST_P(PowerCut, the_options_say_whether_writes_are_synced) {
  for (const auto durability : {Durability::none, Durability::process, Durability::power}) {
    TestDatabase database(GetParam());
    database.open(true, durability);
    EXPECT_EQ(says_that_it_syncs(GetParam(), database->options()), writes_acknowledged_unsynced(database) == 0);
  }
}

}  // namespace
}  // namespace edgejoule::driver
