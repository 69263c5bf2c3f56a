#include "estimate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace {

using eco::RocksdbLog, eco::StallCause;

RocksdbLog parse(const std::string& text) {
  std::istringstream in(text);
  return eco::parse_rocksdb_log(in, "LOG");
}

std::string at(double s) {
  return fmt::format("2026/01/01-00:{:02d}:{:09.6f}", static_cast<int>(s) / 60, s - 60 * (static_cast<int>(s) / 60));
}

// The text of one compaction of level 0 from `begin` to `end`, with writes delayed from `stalled` on, in the forms of
// two releases.
struct Form {
  bool nine = false;

  [[nodiscard]] std::string event(double s, const std::string& thread, int job, const std::string& rest) const {
    const auto micros = static_cast<long long>(1767225600e6 + s * 1e6);
    return nine ? fmt::format("{} {} EVENT_LOG_v1 {{\"time_micros\": {}, \"job\": {}, {}}}\n", at(s), thread, micros,
                              job, rest)
                : fmt::format("{} {} (Original Log Time {}) EVENT_LOG_v1 {{\"time_micros\": {}, \"job\": {}, {}}}\n",
                              at(s), thread, at(s), micros, job, rest);
  }
  [[nodiscard]] std::string family() const { return nine ? "\"cf_name\": \"default\", " : ""; }
  [[nodiscard]] std::string flush(double s, int job, int files, const std::string& stall = "") const {
    return fmt::format("{} 11 [db/flush_job.cc:1] [default] [JOB {}] Flushing memtable\n", at(s - 0.1), job) +
           (stall.empty() ? ""
                          : fmt::format("{} 11 [WARN] [db/column_family.cc:1] [default] {}\n", at(s - 0.01), stall)) +
           event(s, "11", job,
                 family() +
                     fmt::format("\"event\": \"flush_finished\", \"lsm_state\": [{}, 0], \"immutable_memtables\": 0",
                                 files));
  }
  [[nodiscard]] std::string compaction(double begin, double end, int job, int files_left) const {
    return fmt::format("{} 22 [db/compaction/compaction_job.cc:1] [default] [JOB {}] Compacting 4@0 + 1@1 files\n",
                       at(begin), job) +
           event(begin, "22", job,
                 family() +
                     "\"event\": \"compaction_started\", \"compaction_reason\": \"LevelL0FilesNum\", \"files_L0\": [1, "
                     "2, 3, 4], "
                     "\"score\": 1, \"input_data_size\": 64000000") +
           event(end, "22", job,
                 family() +
                     fmt::format(
                         "\"event\": \"compaction_finished\", \"compaction_time_micros\": {}, "
                         "\"compaction_time_cpu_micros\": {}, "
                         "\"output_level\": 1, \"total_output_size\": 60000000, \"num_input_records\": 64000, "
                         "\"num_output_records\": 60000, \"output_compression\": \"Snappy\", \"lsm_state\": [{}, 1]",
                         static_cast<int>((end - begin) * 1e6), static_cast<int>((end - begin) * 1e6), files_left));
  }
  // Forty consecutive compactions of 4 s; each delays writes in its last two seconds.
  [[nodiscard]] std::string log(double waited_s = -1) const {
    std::string text = fmt::format(
        "{} 1 RocksDB version: {}\n{} 1         Options.level0_slowdown_writes_trigger: 6\n"
        "{} 1         Options.level0_stop_writes_trigger: 8\n",
        at(0), nine ? "9.10.0" : "7.8.3", at(0), at(0));
    for (int i = 0; i < 40; ++i) {
      const double begin = 5.0 * i + 1;
      const std::string whole = compaction(begin, begin + 4, 1000 + i, 5);
      const auto end_line = whole.rfind(at(begin + 4) + " 22");
      text += whole.substr(0, end_line) + flush(begin + 0.5, 2 * i + 10, 5) +
              flush(begin + 2, 2 * i + 11, 6, "Stalling writes because we have 6 level-0 files rate 8388608") +
              whole.substr(end_line);
    }
    if (waited_s >= 0)
      text += fmt::format("\n** DB Stats **\nCumulative stall: 00:{:02d}:{:06.3f} H:M:S, 10.0 percent\n",
                          static_cast<int>(waited_s) / 60, waited_s - 60 * (static_cast<int>(waited_s) / 60));
    return text;
  }
};

class Releases : public testing::TestWithParam<bool> {};

TEST_P(Releases, compactions_flushes_and_stalls_are_read) {
  const auto log = parse(Form{GetParam()}.log(40));
  EXPECT_EQ(log.release, GetParam() ? "9.10.0" : "7.8.3");
  EXPECT_EQ(log.slowdown_files, 6);
  EXPECT_EQ(log.stop_files, 8);
  ASSERT_EQ(log.compactions.size(), 40U);
  const auto& compaction = log.compactions[1];
  EXPECT_TRUE(compaction.from_level_zero);
  EXPECT_EQ(compaction.input_bytes, 64'000'000U);
  EXPECT_EQ(compaction.input_entries, 64'000U);
  EXPECT_EQ(compaction.codec, "Snappy");
  EXPECT_EQ(compaction.column_family, "default");
  EXPECT_EQ(compaction.level_zero_files, 5) << "what the one before left";
  EXPECT_NEAR(compaction.end_s - compaction.begin_s, 4, 1e-6);
  EXPECT_EQ(log.flushes.size(), 80U);
  ASSERT_EQ(log.stalls.size(), 40U);
  EXPECT_EQ(log.stalls[0].cause, StallCause::level_zero);
  EXPECT_FALSE(log.stalls[0].stopped);
  EXPECT_NEAR(log.stalls[0].end_s - log.stalls[0].begin_s, 2.01, 1e-5) << "until the compaction changed the files";
  EXPECT_EQ(log.waited_s, 40);
  EXPECT_EQ(log.bad_events, 0U);
}

TEST_P(Releases, offloading_to_a_faster_server_avoids_what_it_ends_earlier) {
  const auto e = eco::estimate_of(parse(Form{GetParam()}.log(80)), "LOG", {.speed = 4, .link_mbit_s = 10000});
  EXPECT_NEAR(e.waited_s, 80, 0.01);
  EXPECT_NEAR(e.delay_share, 80 / 80.4, 0.01);
  const auto saving = [&](const std::string& policy) {
    return *std::ranges::find(e.savings, policy, &eco::Saving::policy);
  };
  EXPECT_EQ(saving("local").offloaded, 0);
  EXPECT_EQ(saving("local").avoided_s, 0);
  EXPECT_NEAR(saving("local").compaction_j, 40 * 4 * 5, 0.01);
  EXPECT_GE(saving("edgepilot").offloaded, 38) << "all, but for the first that nothing is known of";
  EXPECT_GE(saving("eco").offloaded, 38) << "each would end in a delay";
  EXPECT_NEAR(saving("eco").avoided_s, 2.0 * saving("eco").offloaded, 1.5) << "it ends after 1.1 s, before the delay";
  EXPECT_LT(saving("eco").compaction_j, saving("local").compaction_j);
  const auto json = nlohmann::json::parse(json_of(e));
  EXPECT_EQ(json["level_zero_compactions"], 40);
}

INSTANTIATE_TEST_SUITE_P(Log, Releases, testing::Bool(),
                         [](const auto& nine) { return nine.param ? "of_9_10" : "of_7_8"; });

TEST(Estimate, a_useless_link_avoids_nothing_and_may_add) {
  const auto e = eco::estimate_of(parse(Form{}.log(80)), "LOG", {.speed = 4, .link_mbit_s = 100});
  for (const auto& saving : e.savings) EXPECT_EQ(saving.offloaded, 0) << saving.policy;
}

TEST(Estimate, without_statistics_delays_count_by_half_and_it_is_said) {
  const auto e = eco::estimate_of(parse(Form{}.log()), "LOG", {});
  EXPECT_FALSE(e.waited_is_known);
  EXPECT_NEAR(e.waited_s, 0.5 * 2.01 * 40, 0.1);
  EXPECT_NE(show(e).find("no statistics in the log: delays are counted by half"), std::string::npos) << show(e);
}

TEST(Estimate, a_stop_lasts_until_a_change_of_files_that_says_nothing) {
  const Form form;
  const auto log =
      parse(form.flush(1, 1, 8, "Stopping writes because we have 8 level-0 files (waiting for compaction)") +
            form.flush(3, 2, 8, "Stopping writes because we have 8 level-0 files (waiting for compaction)") +
            form.flush(4, 3, 5));
  ASSERT_EQ(log.stalls.size(), 2U);
  EXPECT_TRUE(log.stalls[0].stopped);
  EXPECT_NEAR(log.stalls[0].end_s - log.stalls[0].begin_s + log.stalls[1].end_s - log.stalls[1].begin_s, 3.01, 1e-5);
}

TEST(Estimate, memtables_and_pending_bytes_are_distinguished) {
  const Form form;
  const auto log =
      parse(form.flush(1, 1, 1,
                       "Stopping writes because we have 2 immutable memtables (waiting for flush), "
                       "max_write_buffer_number is set to 2") +
            form.flush(2, 2, 1, "Stalling writes because of estimated pending compaction bytes 100 rate 1") +
            form.flush(3, 3, 1));
  ASSERT_EQ(log.stalls.size(), 2U);
  EXPECT_EQ(log.stalls[0].cause, StallCause::memtables);
  EXPECT_EQ(log.stalls[1].cause, StallCause::pending_bytes);
}

TEST(Estimate, an_event_that_a_crash_cut_short_is_counted) {
  const auto log = parse(Form{}.log() + at(300) + " 22 EVENT_LOG_v1 {\"time_micros\": 17, \"jo\n");
  EXPECT_EQ(log.bad_events, 1U);
  EXPECT_EQ(log.compactions.size(), 40U);
}

TEST(Estimate, a_file_that_is_no_log_is_refused) {
  EXPECT_THROW((void)parse("hello\n"), std::runtime_error);
  EXPECT_THROW((void)eco::read_rocksdb_log("/nonexistent/LOG"), std::runtime_error);
}

}  // namespace
