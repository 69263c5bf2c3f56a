// Tests specific to RocksDB: its own counters as a check, settings read back, options that break a promise.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <string>
#include <thread>

#include "open_database.h"
#include "system/system.h"

namespace edgejoule::driver {
namespace {

TEST(RocksDb, its_own_counters_agree_with_the_operations_made) {
  TestDatabase database("rocksdb");
  database.set("statistics", "true");
  database.open();
  const auto session = database->session();
  const TestRow row("user1");
  for (int number = 0; number < 30; ++number) ASSERT_EQ(session->insert(test_key(number), row.fields()), Status::ok);
  Row found;
  for (int number = 0; number < 20; ++number) ASSERT_EQ(session->read(test_key(number), {}, found), Status::ok);
  const std::vector<Field> change = {{"field1", "changed"}};
  for (int number = 0; number < 7; ++number) ASSERT_EQ(session->update(test_key(number), change), Status::ok);
  for (int number = 0; number < 5; ++number) ASSERT_EQ(session->replace(test_key(number), row.fields()), Status::ok);
  auto stats = database->stats();
  EXPECT_EQ(stats["rocksdb.number.keys.written"], "42");
  EXPECT_EQ(stats["rocksdb.number.keys.read"], "27");
}

TEST(RocksDb, reports_the_options_in_force) {
  TestDatabase database("rocksdb");
  database.set("options", "write_buffer_size=1048576;max_background_jobs=1;stats_dump_period_sec=7");
  database.set("block_cache_bytes", "3145728");
  database.open(true, Durability::power);
  auto options = database->options();
  EXPECT_EQ(options["write_buffer_size"], "1048576");
  EXPECT_EQ(options["max_background_jobs"], "1");
  EXPECT_EQ(options["stats_dump_period_sec"], "7");
  EXPECT_EQ(options["block_cache_bytes"], "3145728");
  EXPECT_EQ(options["sync"], "true");
  EXPECT_EQ(options["disableWAL"], "false");
}

// ecoctl estimate reads the release and the triggers of stalls from such lines.
TEST(RocksDb, its_log_has_time_and_thread_before_the_text) {
  TestDatabase database("rocksdb");
  database.open();
  std::ifstream log(database.path() / "LOG");
  std::string line;
  ASSERT_TRUE(std::getline(log, line));
  const std::regex form(R"(\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d\.\d{6} (\d+) RocksDB version: \d.*)");
  std::smatch parts;
  ASSERT_TRUE(std::regex_match(line, parts, form)) << line;
  EXPECT_EQ(parts[1].str(), std::to_string(gettid())) << line;
}

TEST(RocksDb, says_when_an_explicit_option_breaks_the_class_s_promise) {
  TestDatabase database("rocksdb");
  database.set("options", "manual_wal_flush=true");
  database.open();
  EXPECT_NE(database->durability_how().find("does not hold"), std::string::npos) << database->durability_how();
}

void write_overlapping_rows(TestDatabase& database, int rows, int first = 0) {
  const auto session = database->session();
  for (int number = 0; number < rows; ++number) {
    const std::string key = test_key((first + number) * 7919 % 6001);
    ASSERT_EQ(session->insert(key, TestRow(key, 0, 100).fields()), Status::ok) << session->error();
  }
}

TEST(RocksDb, settles_under_every_style_of_compaction) {
  for (const char* options :
       {"compaction_style=kCompactionStyleUniversal", "disable_auto_compactions=true",
        "compaction_style=kCompactionStyleFIFO;max_open_files=-1", "max_subcompactions=4;max_background_jobs=4",
        "enable_pipelined_write=true", "allow_mmap_reads=true", "avoid_flush_during_shutdown=true",
        "compression=kNoCompression;level_compaction_dynamic_level_bytes=true"}) {
    TestDatabase database("rocksdb");
    database.set("options", "write_buffer_size=131072;target_file_size_base=131072;max_bytes_for_level_base=524288;" +
                                std::string(options));
    database.open();
    write_overlapping_rows(database, 1000);
    const Settled settled = database->settle(60'000'000'000);
    EXPECT_TRUE(settled.complete) << options << ": " << settled.how;
    EXPECT_EQ(database.log_bytes(), 0U) << options;
    (void)database.events().take();
    EXPECT_TRUE(database->settle(60'000'000'000).complete) << options;
    for (const DatabaseEvent& event : database.events().take()) {
      EXPECT_NE(event.kind, DatabaseEvent::Kind::compaction) << options << ": not settled, but: " << event.detail;
    }
  }
}

TEST(RocksDb, settles_what_several_threads_left) {
  TestDatabase database("rocksdb");
  database.set("options", "write_buffer_size=131072;target_file_size_base=131072;max_subcompactions=2");
  database.open();
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&database, number] { write_overlapping_rows(database, 1500, 1500 * number); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(database->settle(60'000'000'000).complete);
  EXPECT_EQ(database.log_bytes(), 0U);
  const auto session = database->session();
  Row row;
  for (int number = 0; number < 6000; ++number) {
    ASSERT_EQ(session->read(test_key(number * 7919 % 6001), {}, row), Status::ok) << number;
  }
}

TEST(RocksDb, settling_ends_with_its_time_limit_while_compactions_run) {
  TestDatabase database("rocksdb");
  database.set("options",
               "write_buffer_size=131072;rate_limiter_bytes_per_sec=500000;level0_file_num_compaction_trigger=2");
  database.open();
  write_overlapping_rows(database, 1500);
  const Settled settled = database->settle(1);
  EXPECT_FALSE(settled.complete) << "1.5 MB at 0.5 MB/s cannot have been compacted: " << settled.how;
}

// Flushes are limited to 60 KB/s, so that the single writer mostly waits for them, however slow it is. The test detects
// a missing stall or one in another unit.
TEST(RocksDb, reports_how_long_its_writer_was_stalled) {
  TestDatabase database("rocksdb");
  database.set("options",
               "write_buffer_size=65536;max_write_buffer_number=2;rate_limiter_bytes_per_sec=60000;"
               "disable_auto_compactions=true");
  database.open();
  const auto stall_ns = [&database] {
    for (const Component& component : database->components()) {
      if (component.name == "stall") return component.duration_ns.value();
    }
    return ~std::uint64_t{0};
  };
  EXPECT_EQ(stall_ns(), 0U);
  const std::uint64_t begin_ns = now_monotonic_ns();
  write_overlapping_rows(database, 250);
  const std::uint64_t written_ns = now_monotonic_ns() - begin_ns;
  EXPECT_GT(stall_ns(), 200'000'000U);
  EXPECT_GT(stall_ns(), written_ns / 3);
  EXPECT_LE(stall_ns(), written_ns);
}

}  // namespace
}  // namespace edgejoule::driver
