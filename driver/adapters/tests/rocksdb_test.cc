// What is RocksDB's alone: its own counters as a witness, settings read back, options that break a promise.
#include <gtest/gtest.h>

#include "open_database.h"

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
  auto stats = database->stats();
  EXPECT_EQ(stats["rocksdb.number.keys.written"], "37");
  EXPECT_EQ(stats["rocksdb.number.keys.read"], "27");
}

TEST(RocksDb, tells_the_options_in_force) {
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

TEST(RocksDb, says_when_an_explicit_option_breaks_the_class_s_promise) {
  TestDatabase database("rocksdb");
  database.set("options", "manual_wal_flush=true");
  database.open();
  EXPECT_NE(database->durability_how().find("does not hold"), std::string::npos) << database->durability_how();
}

}  // namespace
}  // namespace edgejoule::driver
