// What is acknowledged survives kill -9 of the process, and the test can tell when it does not.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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
  // What is still in the pipe after the kill was acknowledged, too.
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
  const int acknowledged = write_and_kill(GetParam(), database.path().string(), "process", 3000);
  ASSERT_GE(acknowledged, 3000);
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
// The mutant: without a log the rows of the memtable go with the process, and the check above would see it.
TEST(ProcessDeath, loses_rows_of_class_none_on_rocksdb) {
  TestDatabase database("rocksdb");
  const int acknowledged = write_and_kill("rocksdb", database.path().string(), "none", 3000);
  ASSERT_GE(acknowledged, 3000);
  database.open(false);
  EXPECT_LT(rows_kept(database, acknowledged), acknowledged);
}
#endif

}  // namespace
}  // namespace edgejoule::driver
