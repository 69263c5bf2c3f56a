#include "database.h"

#include <gtest/gtest.h>

namespace {

using namespace eco::sim;

constexpr Amount file{.bytes = 40 << 20, .entries = 40000};

Database with_files(int files, double keys = 1e12) {
  Database database({}, keys);
  for (int i = 0; i < files; ++i) database.add_file(file);
  return database;
}

TEST(Database, compacts_level_0_at_its_trigger) {
  EXPECT_FALSE(with_files(3).pick());
  const auto compaction = with_files(4).pick();
  ASSERT_TRUE(compaction);
  EXPECT_EQ(compaction->level, 0U);
  EXPECT_EQ(compaction->files, 4);
}

TEST(Database, counts_the_inputs_in_level_0_until_the_compaction_ends) {
  Database database = with_files(4);
  const auto compaction = database.pick();
  database.add_file(file);
  EXPECT_EQ(database.level0_files(), 5);
  database.install(*compaction);
  EXPECT_EQ(database.level0_files(), 1);
}

TEST(Database, compacts_level_0_once_at_a_time_and_nothing_out_of_level_1_meanwhile) {
  Database database = with_files(20);
  database.install(*database.pick());
  for (int i = 0; i < 20; ++i) database.add_file(file);
  const auto first = database.pick();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->level, 0U);
  for (int i = 0; i < 20; ++i) database.add_file(file);
  EXPECT_FALSE(database.pick());
}

TEST(Database, merges_level_0_with_all_of_level_1) {
  Database database = with_files(4);
  database.install(*database.pick());
  for (int i = 0; i < 5; ++i) database.add_file(file);
  EXPECT_NEAR(database.pick()->inputs().bytes, 9 * file.bytes, 1000);
}

TEST(Database, keeps_every_entry_of_different_keys) {
  Database database({}, 1e15);
  double entries = 0;
  for (int i = 0; i < 500; ++i) {
    database.add_file(file), entries += file.entries;
    if (const auto compaction = database.pick()) database.install(*compaction);
  }
  double kept = 0;
  for (std::size_t level = 0; level < 7; ++level) kept += database.level(level).entries;
  EXPECT_NEAR(kept / entries, 1, 1e-3);
  EXPECT_GT(database.level(2).entries, 0);
}

TEST(Database, drops_what_was_overwritten) {
  Database database({}, 100000);
  for (int i = 0; i < 500; ++i) {
    database.add_file(file);
    if (const auto compaction = database.pick()) database.install(*compaction);
  }
  EXPECT_LE(database.level(1).entries, 100001);
  EXPECT_NEAR(database.level(1).entries, 100000, 1000);
}

TEST(Database, brings_every_level_to_its_size_when_left_alone) {
  Database database = with_files(200);
  while (const auto compaction = database.pick()) database.install(*compaction);
  EXPECT_LT(database.level0_files(), 4);
  EXPECT_LE(database.level(1).bytes, 256 << 20);
  EXPECT_EQ(database.running(), 0U);
  EXPECT_EQ(database.bytes_needed(), 0);
}

TEST(WriteController, delays_and_stops_at_the_triggers) {
  WriteController writes({});
  writes.observe(with_files(19));
  EXPECT_FALSE(writes.delayed() || writes.stopped());
  writes.observe(with_files(20));
  EXPECT_TRUE(writes.delayed());
  writes.observe(with_files(36));
  EXPECT_TRUE(writes.stopped());
  writes.observe(with_files(5));
  EXPECT_FALSE(writes.delayed() || writes.stopped());
}

TEST(WriteController, delays_more_while_level_0_grows_and_less_while_it_shrinks) {
  const DatabaseOptions options;
  WriteController writes(options);
  writes.observe(with_files(20));
  EXPECT_EQ(writes.delayed_rate(), options.delayed_write_rate);
  writes.observe(with_files(22));
  EXPECT_NEAR(writes.delayed_rate(), 0.8 * options.delayed_write_rate, 1);
  writes.observe(with_files(35));
  EXPECT_NEAR(writes.delayed_rate(), 0.48 * options.delayed_write_rate, 1);
  writes.observe(with_files(22));
  EXPECT_NEAR(writes.delayed_rate(), 0.6 * options.delayed_write_rate, 1);
}

}  // namespace
