// `ecoctl estimate` reads a LOG of db_bench.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "estimate.h"
#include "processes.h"

namespace {

using namespace eco::test;

std::size_t lines_with(const std::string& file, const std::string& text) {
  std::ifstream in(file);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);) count += line.find(text) != std::string::npos;
  return count;
}

TEST(DbBench, a_log_with_stalls_is_read_whole_and_its_waiting_is_what_rocksdb_counted) {
  const TemporaryFolder folder;
  Process bench({"db_bench", "--benchmarks=fillrandom,waitforcompaction", "--db=" + (folder / "db"), "--num=250000",
                 "--value_size=400", "--write_buffer_size=1000000", "--target_file_size_base=1000000",
                 "--max_bytes_for_level_base=4000000", "--level0_file_num_compaction_trigger=4",
                 "--level0_slowdown_writes_trigger=8", "--level0_stop_writes_trigger=12", "--max_background_jobs=1",
                 "--compression_type=snappy", "--stats_dump_period_sec=1", "--disable_wal=1", "--seed=1"},
                folder / "out");
  ASSERT_EQ(bench.wait(), 0) << bench.log();
  const std::string file = folder / "db/LOG";
  const auto e = eco::estimate_log(file, {.speed = 8, .link_mbit_s = 10000});

  EXPECT_EQ(e.log.bad_events, 0U);
  EXPECT_TRUE(std::regex_match(e.log.release, std::regex("\\d+\\.\\d+\\.\\d+"))) << e.log.release;
  EXPECT_EQ(e.log.slowdown_files, 8);
  EXPECT_EQ(e.log.compactions.size(), lines_with(file, "\"event\": \"compaction_finished\""));
  EXPECT_EQ(e.log.flushes.size(), lines_with(file, "\"event\": \"flush_finished\""));
  EXPECT_GT(e.sizes.size(), 3U);
  EXPECT_GT(lines_with(file, "Stalling writes because"), 0U);
  ASSERT_TRUE(e.waited_is_known) << "the statistics are dumped each second";
  // The statistics and the stall lines of the LOG are two sources of the same time.
  double stalled_s = 0;
  for (const auto& stall : e.log.stalls) stalled_s += stall.end_s - stall.begin_s;
  EXPECT_GT(e.waited_s, 0.1 * stalled_s);
  EXPECT_LT(e.waited_s, 1.5 * stalled_s);
  const auto saving = *std::ranges::find(e.savings, "edgepilot", &eco::Saving::policy);
  EXPECT_GT(saving.offloaded, 0);
  EXPECT_LE(saving.avoided_s, e.waited_level_zero_s);
  EXPECT_NE(show(e).find("writers waited"), std::string::npos);
}

}  // namespace
