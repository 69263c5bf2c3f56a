// Settling completes all work in every database, and background work is reported.
#include <gtest/gtest.h>

#include "open_database.h"
#include "system/system.h"

namespace edgejoule::driver {
namespace {

using Kind = DatabaseEvent::Kind;

constexpr std::uint64_t time_limit_ns = 60'000'000'000;
constexpr int row_count = 6000;
constexpr std::size_t value_bytes = 100;

// Each key once, in an order that makes tables overlap; LevelDB would only move tables that do not overlap.
std::string scattered_key(int number) { return test_key(number * 7919 % (row_count + 1)); }

class Settling : public testing::TestWithParam<std::string> {
 protected:
  // Small memtables, so that seconds of work cause flushes and compactions.
  void SetUp() override {
    if (GetParam() == "leveldb") database_.set("write_buffer_bytes", "262144");
    if (GetParam() == "rocksdb") {
      database_.set("options",
                    "write_buffer_size=262144;target_file_size_base=262144;max_bytes_for_level_base=1048576;"
                    "level0_file_num_compaction_trigger=2");
    }
    begin_ns_ = now_monotonic_ns();
    // in class none lunar leaves most of the work to settling
    database_.open(true, GetParam() == "lunar" ? Durability::none : Durability::process);
  }

  void load(int first, int last) {
    const auto session = database_->session();
    for (int number = first; number < last; ++number) {
      const std::string key = scattered_key(number);
      const TestRow row(key, 0, value_bytes);
      ASSERT_EQ(session->insert(key, row.fields()), Status::ok) << session->error();
    }
  }

  TestDatabase database_{GetParam()};
  std::uint64_t begin_ns_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Adapters, Settling, testing::ValuesIn(keeping_adapters()),
                         [](const auto& adapter) { return adapter.param; });

class SettlingOfALog : public Settling {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SettlingOfALog);
INSTANTIATE_TEST_SUITE_P(Adapters, SettlingOfALog, testing::ValuesIn(logging_adapters()),
                         [](const auto& adapter) { return adapter.param; });

TEST_P(SettlingOfALog, leaves_nothing_to_replay) {
  load(0, row_count);
  ASSERT_GT(database_.log_bytes(), 0U) << "nothing to settle: this test could not fail";
  const Settled settled = database_->settle(time_limit_ns);
  EXPECT_TRUE(settled.complete) << settled.how;
  EXPECT_EQ(database_.log_bytes(), 0U) << settled.how;
}

TEST_P(SettlingOfALog, holds_after_the_last_row_too) {
  load(0, row_count);
  ASSERT_TRUE(database_->settle(time_limit_ns).complete);
  load(row_count, row_count + 1);
  ASSERT_GT(database_.log_bytes(), 0U);
  EXPECT_TRUE(database_->settle(time_limit_ns).complete);
  EXPECT_EQ(database_.log_bytes(), 0U);
}

TEST_P(Settling, loses_nothing) {
  load(0, row_count);
  ASSERT_TRUE(database_->settle(time_limit_ns).complete);
  const auto session = database_->session();
  Row row;
  for (int number = 0; number < row_count; ++number) {
    ASSERT_EQ(session->read(scattered_key(number), {}, row), Status::ok) << number;
  }
}

TEST_P(Settling, is_quiet_afterwards) {
  load(0, row_count);
  ASSERT_TRUE(database_->settle(time_limit_ns).complete);
  (void)database_.events().take();
  ASSERT_TRUE(database_->settle(time_limit_ns).complete);
  for (const DatabaseEvent& event : database_.events().take()) {
    EXPECT_NE(event.kind, Kind::compaction) << event.detail;
    EXPECT_NE(event.kind, Kind::stall) << event.detail;
  }
}

TEST_P(SettlingOfALog, reports_the_database_s_own_work_with_sane_times) {
  load(0, row_count);
  ASSERT_TRUE(database_->settle(time_limit_ns).complete);
  const std::uint64_t end_ns = now_monotonic_ns();
  std::map<Kind, int> seen;
  for (const DatabaseEvent& event : database_.events().take()) {
    ++seen[event.kind];
    EXPECT_GE(event.begin_monotonic_ns, begin_ns_) << event.detail;
    EXPECT_LE(event.begin_monotonic_ns, end_ns) << event.detail;
    EXPECT_LE(event.duration_ns, static_cast<std::int64_t>(end_ns - begin_ns_)) << event.detail;
    EXPECT_NE(event.duration_ns, 0) << event.detail;
  }
  if (GetParam() == "sqlite") {
    EXPECT_GT(seen[Kind::checkpoint], 1);
  } else {
    EXPECT_GT(seen[Kind::flush], 1);
    EXPECT_GT(seen[Kind::compaction], 0);
  }
}

TEST_P(SettlingOfALog, events_say_bytes_written_where_the_engine_does) {
  load(0, row_count);
  ASSERT_TRUE(database_->settle(time_limit_ns).complete);
  std::int64_t flushed_bytes = 0;
  for (const DatabaseEvent& event : database_.events().take()) {
    if (GetParam() == "sqlite") {
      EXPECT_GT(event.write_bytes, 0) << event.detail;
      EXPECT_GT(event.read_bytes, 0) << event.detail;
    }
    if (event.kind == Kind::flush && event.write_bytes > 0) flushed_bytes += event.write_bytes;
  }
  if (GetParam() == "sqlite") return;
  // The values do not compress to less than half.
  EXPECT_GT(flushed_bytes, static_cast<std::int64_t>(row_count * value_bytes * TestRow::field_count / 2));
  EXPECT_LT(flushed_bytes, static_cast<std::int64_t>(row_count * value_bytes * TestRow::field_count * 2));
}

TEST_P(Settling, flush_reports_success) {
  load(0, 10);
  EXPECT_EQ(database_->flush(), Status::ok) << database_->flush_error();
  EXPECT_EQ(database_->flush_error(), "");
}

}  // namespace
}  // namespace edgejoule::driver
