// Debian's db_bench, as it is, with libeco-preload.so.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bench_bed.h"

namespace {

using namespace eco::test;

class Preload : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v db_bench > /dev/null 2>&1") != 0) GTEST_SKIP() << "db_bench is not installed";
  }

  // What a command prints, with the library loaded and this configuration.
  [[nodiscard]] std::string run(const std::string& command, const std::string& configuration) const {
    const std::string file = folder_ / "eco.toml";
    std::ofstream(file) << configuration;
    const std::string line = "LD_PRELOAD='" ECO_PRELOAD "' ECO_CONFIG='" + file + "' " + command + " 2>&1";
    FILE* pipe = popen(line.c_str(), "r");
    std::string output;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
    pclose(pipe);
    return output;
  }
  [[nodiscard]] std::string db_bench(const std::string& configuration) const {
    return run(
        "db_bench --benchmarks=fillrandom --num=100000 --value_size=100 --write_buffer_size=524288 "
        "--target_file_size_base=524288 --seed=1 --db='" +
            folder_ / "db" + "'",
        configuration);
  }
  // The lines of the database's LOG that eco wrote.
  [[nodiscard]] std::string log() const {
    std::ifstream file(folder_ / "db/LOG");
    std::string lines;
    for (std::string line; std::getline(file, line);)
      if (line.find("[eco]") != std::string::npos) lines += line + '\n';
    return lines;
  }

  TemporaryFolder folder_;
};

TEST_F(Preload, offloads_an_unmodified_db_bench) {
  const WorkerProcess worker(folder_ / "scratch");
  const std::string output = db_bench("worker = \"" + worker.address() + "\"\n");
  EXPECT_NE(output.find("fillrandom"), std::string::npos) << output;
  EXPECT_EQ(output.find("eco:"), std::string::npos) << output;
  EXPECT_NE(log().find("compacted by " + worker.address()), std::string::npos) << log();
  EXPECT_EQ(log().find("compacted here"), std::string::npos) << log();
}

TEST_F(Preload, says_what_is_wrong_and_passes_through) {
  const std::string output = db_bench("wrker = 1\n");
  EXPECT_NE(output.find("eco.toml:1: wrker: is not known: nothing is offloaded"), std::string::npos) << output;
  EXPECT_NE(output.find("fillrandom"), std::string::npos) << output;
  EXPECT_EQ(log(), "");
}

TEST_F(Preload, leaves_other_programs_alone) { EXPECT_EQ(run("echo yes", "worker = \"127.0.0.1:1\"\n"), "yes\n"); }

#ifdef ECO_STATIC_PROGRAM
TEST_F(Preload, says_that_a_program_has_rocksdb_within_itself) {
  EXPECT_NE(run(ECO_STATIC_PROGRAM, "worker = \"127.0.0.1:1\"\n").find("linked statically"), std::string::npos);
}
#endif

}  // namespace
