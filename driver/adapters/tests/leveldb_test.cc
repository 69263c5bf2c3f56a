// Tests specific to LevelDB: events parsed from its log lines, and why updates take a lock.
#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <thread>

#include "adapters/leveldb/leveldb_session.h"
#include "adapters/leveldb/log_watch.h"
#include "open_database.h"

namespace edgejoule::driver {
namespace {

using Kind = DatabaseEvent::Kind;

TEST(LevelDbLog, reports_a_flush_with_its_bytes) {
  EventList events;
  LogWatch watch(nullptr, events.sink());
  watch.line("Level-0 table #5: started", 1000);
  watch.line("Level-0 table #5: 2100 bytes OK", 1700);
  const auto seen = events.take();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].kind, Kind::flush);
  EXPECT_EQ(seen[0].begin_monotonic_ns, 1000U);
  EXPECT_EQ(seen[0].duration_ns, 700);
  EXPECT_EQ(seen[0].write_bytes, 2100);
  EXPECT_EQ(seen[0].read_bytes, -1);
  EXPECT_EQ(watch.failure(), "");
}

TEST(LevelDbLog, reports_a_compaction_and_the_flush_inside_it) {
  EventList events;
  LogWatch watch(nullptr, events.sink());
  watch.line("Compacting 4@0 + 2@1 files", 100);
  watch.line("Level-0 table #9: started", 200);
  watch.line("Level-0 table #9: 50 bytes OK", 250);
  watch.line("Generated table #10@0: 7 keys, 900 bytes", 300);
  watch.line("Compacted 4@0 + 2@1 files => 900 bytes", 400);
  watch.line("compacted to: files[ 0 1 0 0 0 0 0 ]", 410);
  const auto seen = events.take();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].kind, Kind::flush);
  EXPECT_EQ(seen[0].duration_ns, 50);
  EXPECT_EQ(seen[1].kind, Kind::compaction);
  EXPECT_EQ(seen[1].begin_monotonic_ns, 100U);
  EXPECT_EQ(seen[1].duration_ns, 300);
  EXPECT_EQ(seen[1].write_bytes, 900);
}

TEST(LevelDbLog, keeps_a_failure_in_leveldb_s_words) {
  EventList events;
  LogWatch watch(nullptr, events.sink());
  watch.line("Compacting 4@0 + 2@1 files", 100);
  watch.line("Compaction error: IO error: x: No space left on device", 200);
  EXPECT_NE(watch.failure().find("No space left"), std::string::npos);
}

TEST(LevelDbLog, reports_a_writer_that_waits) {
  EventList events;
  LogWatch watch(nullptr, events.sink());
  watch.line("Too many L0 files; waiting...\n", 100);
  const auto seen = events.take();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].kind, Kind::stall);
  EXPECT_EQ(seen[0].duration_ns, -1);
}

TEST(LevelDb, settles_what_several_threads_left) {
  TestDatabase database("leveldb");
  database.set("write_buffer_bytes", "65536");
  database.open();
  const auto work = [&database](int side) {
    const auto session = database->session();
    for (int number = side; number < 6000; number += 4) {
      const std::string key = test_key(number * 7919 % 6001);
      EXPECT_EQ(session->insert(key, TestRow(key, 0, 100).fields()), Status::ok) << session->error();
    }
  };
  std::vector<std::thread> threads;
  for (int side = 0; side < 4; ++side) threads.emplace_back(work, side);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(database->settle(60'000'000'000).complete);
  EXPECT_EQ(database.log_bytes(), 0U);
  (void)database.events().take();
  EXPECT_TRUE(database->settle(60'000'000'000).complete);
  for (const DatabaseEvent& event : database.events().take()) EXPECT_NE(event.kind, Kind::compaction) << event.detail;
}

// Two threads change one field each of one row. Returns true if a change was lost.
bool loses_fields(KeyLocks& locks, KeyLocks& other_locks) {
  const TemporaryDirectory directory;
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* opened = nullptr;
  EXPECT_TRUE(leveldb::DB::Open(options, directory.path().string(), &opened).ok());
  const std::unique_ptr<leveldb::DB> db(opened);
  LevelDbSession setup(*db, locks, {}, {});
  EXPECT_EQ(setup.insert("hot", TestRow("hot").fields()), Status::ok);
  std::atomic<bool> lost = false;
  const auto work = [&db, &lost](KeyLocks& own_locks, const std::string& field) {
    LevelDbSession session(*db, own_locks, {}, {});
    Row row;
    for (int number = 0; number < 20000 && !lost; ++number) {
      const std::string value = std::to_string(number);
      const std::vector<Field> change = {{field, value}};
      EXPECT_EQ(session.update("hot", change), Status::ok);
      EXPECT_EQ(session.read("hot", {}, row), Status::ok);
      if (as_map(row)[field] != value) lost = true;
    }
  };
  std::thread other(work, std::ref(other_locks), "field1");
  work(locks, "field0");
  other.join();
  return lost;
}

TEST(KeyLocks, keep_updates_of_two_threads_from_losing_fields) {
  KeyLocks locks;
  EXPECT_FALSE(loses_fields(locks, locks));
}

// Mutant: locks that are not shared.
TEST(KeyLocks, are_needed) {
  KeyLocks locks;
  KeyLocks others;
  EXPECT_TRUE(loses_fields(locks, others));
}

}  // namespace
}  // namespace edgejoule::driver
