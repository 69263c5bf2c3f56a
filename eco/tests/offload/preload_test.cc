// libeco-preload.so with unmodified programs: Debian's db_bench, shells, and programs without a usable RocksDB.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bench_bed.h"

namespace {

using namespace eco::test;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

constexpr const char* nowhere = "worker = \"127.0.0.1:1\"\n";

struct Ran {
  int code = -1;  // -1: a signal ended it
  std::string output;
};

Ran run(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  Ran ran;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) ran.output += static_cast<char>(c);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
  return ran;
}

// Succeeds if `line` is the only output of eco and the program did its work.
AssertionResult says(const Ran& ran, const std::string& line, const std::string& work) {
  std::istringstream lines(ran.output);
  std::string of_eco;
  for (std::string next; std::getline(lines, next);)
    if (next.find("eco:") != std::string::npos) of_eco += next + '\n';
  if (ran.code == 0 && of_eco == line + '\n' && ran.output.find(work) != std::string::npos) return AssertionSuccess();
  return AssertionFailure() << "expected " << line << "\nwith exit code 0 and \"" << work << "\"; exit code "
                            << ran.code << ", output\n"
                            << ran.output;
}

class Preload : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(settings()) << nowhere;
    std::filesystem::create_directory(folder_ / "databases");
  }

  void configure(const std::string& text) const { std::ofstream(settings()) << text; }
  [[nodiscard]] std::string settings() const { return folder_ / "eco.toml"; }
  [[nodiscard]] std::string attached() const {
    return "eco: attached to RocksDB " + rocksdb::GetRocksVersionAsString() + " by " + settings();
  }
  [[nodiscard]] Ran with_eco(const std::string& command, const std::string& library = ECO_PRELOAD) const {
    return run("LD_PRELOAD='" + library + "' ECO_CONFIG='" + settings() + "' " + command);
  }
  [[nodiscard]] std::string program(const std::string& mode, const std::string& path = ECO_PROGRAM) const {
    return "'" + path + "' " + mode + " '" + (folder_ / "databases/db") + "'";
  }

  TemporaryFolder folder_;
};

class PreloadDbBench : public Preload {
 protected:
  void SetUp() override {
    Preload::SetUp();
    if (std::system("command -v db_bench > /dev/null 2>&1") != 0) GTEST_SKIP() << "db_bench is not installed";
  }
  [[nodiscard]] std::string db_bench() const {
    return "db_bench --benchmarks=fillrandom --num=100000 --value_size=100 --write_buffer_size=524288 "
           "--target_file_size_base=524288 --seed=1 --db='" +
           folder_ / "db" + "'";
  }
  // Returns eco's lines in the database's LOG.
  [[nodiscard]] std::string log() const {
    std::ifstream file(folder_ / "db/LOG");
    std::string lines;
    for (std::string line; std::getline(file, line);)
      if (line.find("[eco]") != std::string::npos) lines += line + '\n';
    return lines;
  }
};

TEST_F(PreloadDbBench, offloads_an_unmodified_db_bench) {
  const WorkerProcess worker(folder_ / "scratch");
  configure("worker = \"" + worker.address() + "\"\n");
  EXPECT_TRUE(says(with_eco(db_bench()), attached(), "fillrandom"));
  EXPECT_NE(log().find("compacted by " + worker.address()), std::string::npos) << log();
  EXPECT_EQ(log().find("compacted here"), std::string::npos) << log();
}

TEST_F(PreloadDbBench, says_which_setting_has_no_effect_any_more) {
  configure(nowhere + std::string("hedge_share = 0.05\n"));
  EXPECT_TRUE(says(with_eco(db_bench()),
                   attached() + "; " + settings() +
                       ":2: hedge_share: has no effect, second attempts at late jobs were removed; remove the "
                       "line",
                   "fillrandom"));
}

TEST_F(PreloadDbBench, says_what_is_wrong_in_the_settings_and_passes_through) {
  configure("wrker = 1\n");
  EXPECT_TRUE(says(with_eco(db_bench()),
                   "eco: not attached: " + settings() +
                       ":1: wrker: unknown key; the top of the file knows worker, node, token, shared_directory, "
                       "same_code, place_timeout_ms, heartbeat_s, standstill_s, job_s_max, tls",
                   "fillrandom"));
  EXPECT_EQ(log(), "");
}

TEST_F(PreloadDbBench, a_shell_script_with_a_program_that_opens_a_database_gets_one_line) {
  std::ofstream(folder_ / "script") << "#!/bin/sh\nls / > /dev/null\n(date > /dev/null)\n"
                                    << db_bench() << "\nexit 0\n";
  EXPECT_TRUE(says(with_eco("sh '" + folder_ / "script" + "'"), attached(), "fillrandom"));
}

TEST_F(Preload, a_program_that_opens_no_database_gets_no_line) {
  EXPECT_EQ(with_eco("sh -c 'echo yes; ls / > /dev/null; mv \"$0\" \"$0-2\"; date > /dev/null' " + settings()).output,
            "yes\n");
}

TEST_F(Preload, two_databases_get_one_line) { EXPECT_TRUE(says(with_eco(program("two")), attached(), "done")); }

TEST_F(Preload, a_program_that_starts_threads_of_rocksdb_before_it_opens_a_database_gets_one_line) {
  EXPECT_TRUE(says(with_eco(program("threads-first")), attached(), "done"));
}

TEST_F(Preload, says_that_no_settings_are_named) {
  EXPECT_TRUE(says(run("env -u ECO_CONFIG LD_PRELOAD='" ECO_PRELOAD "' " + program("one")),
                   "eco: not attached: ECO_CONFIG names no configuration", "done"));
}

TEST_F(Preload, leaves_a_program_its_own_compaction_service) {
  EXPECT_TRUE(says(with_eco(program("own-service")), "eco: not attached: the program already has a compaction service",
                   "done"));
}

TEST_F(Preload, says_that_a_transaction_db_is_not_offloaded) {
  EXPECT_TRUE(
      says(with_eco(program("transactions")),
           "eco: not attached: the program does not open its database with DB::Open (a TransactionDB, for example)",
           "done"));
}

TEST_F(Preload, leaves_a_shared_library_of_another_release_alone) {
  const Ran ran = with_eco(program("one"), ECO_PRELOAD_OTHER_RELEASE);
  const auto begin = ran.output.find("eco: "), is = ran.output.find(" is RocksDB ");
  ASSERT_NE(is, std::string::npos) << ran.output;
  EXPECT_TRUE(says(ran,
                   ran.output.substr(begin, is - begin) + " is RocksDB " + rocksdb::GetRocksVersionAsString() +
                       "; eco was built for 6.0",
                   "done"));
  EXPECT_NE(ran.output.find("eco: not attached: /"), std::string::npos) << ran.output;
}

// RocksDB's LOG then has stderr's descriptor number.
TEST_F(Preload, writes_into_no_file_of_the_database_where_stderr_is_closed) {
  EXPECT_EQ(with_eco(program("transactions") + " 2>&- | cat").output, "done\n");
  EXPECT_EQ(run("grep -rl 'eco: ' '" + (folder_ / "databases") + "'").output, "");
}

// A socket that listens and never answers.
TEST_F(Preload, waits_once_for_a_worker_that_hangs_however_many_databases_are_opened) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener, 100), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  configure("worker = \"127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "\"\n");
  EXPECT_TRUE(says(with_eco(program("many")), attached(), "done"));
  const auto lines = [&](const std::string& text) {
    return std::stoi(run("grep -rh --include='LOG*' '" + text + "' '" + (folder_ / "databases") + "' | wc -l").output);
  };
  EXPECT_EQ(lines("no answer from the worker"), 1);
  EXPECT_GT(lines("no jobs for"), 5);
  close(listener);
}

#ifdef ECO_STATIC_PROGRAM
TEST_F(Preload, says_that_a_program_contains_rocksdb) {
  const std::string release = rocksdb::GetRocksVersionAsString();
  EXPECT_TRUE(says(with_eco(program("one", ECO_STATIC_PROGRAM)),
                   "eco: not attached: " ECO_STATIC_PROGRAM " contains RocksDB " + release +
                       "; eco needs the shared library of RocksDB " + release.substr(0, release.rfind('.')),
                   "done"));
}
#endif

TEST_F(Preload, exports_nothing_but_the_functions_that_it_stands_before_and_needs_the_c_library_alone) {
  std::istringstream names(run("nm -D --defined-only '" ECO_PRELOAD "'").output);
  int opens = 0, renames = 0;
  for (std::string address, type, name; names >> address >> type >> name;) {
    const bool open = name.starts_with("_ZN7rocksdb2DB4OpenE");
    opens += open, renames += name == "rename";
    EXPECT_TRUE(open || name == "rename") << name << " replaces the program's own";
  }
  EXPECT_EQ(opens, 2);
  EXPECT_EQ(renames, 1);
  std::istringstream needs(run("readelf -d '" ECO_PRELOAD "' | grep NEEDED").output);
  for (std::string line; std::getline(needs, line);)
    EXPECT_TRUE(line.find("[libc.so") != std::string::npos || line.find("[ld-linux") != std::string::npos) << line;
}

}  // namespace
