// A volume over its life: rows survive an unmount, a full device works after deletion, transactions are atomic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

int insert(World& world, std::int64_t key, std::size_t bytes) {
  const std::string text(bytes, static_cast<char>('a' + key % 26));
  const lunar_value values[] = {integer(key), blob(text), integer(1)};
  return lunar_insert(&world.table, values);
}

int remove(World& world, std::int64_t key) {
  const lunar_value k = integer(key);
  return lunar_remove(&world.table, &k);
}

std::uint64_t count(World& world) {
  std::uint64_t rows = 0;
  EXPECT_EQ(lunar_count(&world.table, &rows), 0);
  return rows;
}

TEST(Volume, keeps_rows_over_unmount_and_mount) {
  World world({.sectors = 1024, .keys = 60}, 1);
  for (int i = 0; i < 400; ++i) ASSERT_EQ(world.step(), 0);
  ASSERT_EQ(lunar_unmount(&world.db), 0);
  ASSERT_EQ(world.mount(), 0);
  EXPECT_EQ(world.read(), world.now);
}

TEST(Volume, holds_more_rows_than_frames_and_finds_each) {
  World world({.mode = LUNAR_MODE_DATA, .sectors = 8192}, 1);
  constexpr int rows = 3000;
  for (int key = 0; key < rows; ++key) ASSERT_EQ(insert(world, key, 100 + key % 700), 0) << key;
  char row[1000];
  lunar_value values[3];
  for (int key = 0; key < rows; ++key) {
    const lunar_value k = integer(key);
    ASSERT_EQ(lunar_get(&world.table, &k, row, sizeof row, values), 0) << key;
    ASSERT_EQ(values[1].bytes, 100U + static_cast<unsigned>(key) % 700);
  }
}

class FullVolume : public testing::TestWithParam<std::tuple<lunar_mode, lunar_index>> {};

TEST_P(FullVolume, says_so_and_works_again_after_deletion) {
  World world({.mode = std::get<0>(GetParam()), .sectors = 512, .index = std::get<1>(GetParam())}, 1);
  std::int64_t key = 0;
  int error = 0;
  while ((error = insert(world, key, 700)) == 0) ++key;
  EXPECT_EQ(error, LUNAR_E_FULL);
  EXPECT_EQ(count(world), static_cast<std::uint64_t>(key));
  for (std::int64_t k = 0; k < key; ++k) ASSERT_EQ(remove(world, k), 0) << k;
  EXPECT_EQ(count(world), 0U);
  for (std::int64_t k = 0; k < key * 8 / 10; ++k) ASSERT_EQ(insert(world, k, 700), 0) << k << " of " << key;
  std::int64_t small = 1000;  // rows through the log, and an index that grows
  while ((error = insert(world, small, 20)) == 0) ++small;
  EXPECT_EQ(error, LUNAR_E_FULL);
  for (std::int64_t k = 1000; k < small; k += 2) ASSERT_EQ(remove(world, k), 0) << k;
  for (std::int64_t k = 1000; k < small; k += 2) ASSERT_EQ(insert(world, k, 20), 0) << k << " of " << small;
  lunar_findings found{};
  EXPECT_EQ(lunar_check(&world.db, &found), 0) << found.text << ", sector " << found.sector;
}

INSTANTIATE_TEST_SUITE_P(Modes, FullVolume,
                         testing::Combine(testing::Values(LUNAR_MODE_NONE, LUNAR_MODE_METADATA, LUNAR_MODE_DATA,
                                                          LUNAR_MODE_FULL),
                                          testing::Values(LUNAR_INDEX_HASH, LUNAR_INDEX_TREE)));

TEST(Volume, takes_a_large_row_after_a_small_one_failed_at_any_call) {
  for (const std::size_t buffer_bytes : {std::size_t{LUNAR_BUFFER_BYTES_MIN(512)}, std::size_t{16384}}) {
    for (std::uint64_t call = 1; call < 40; ++call) {
      World world({.mode = LUNAR_MODE_DATA, .sectors = 1024, .buffer_bytes = buffer_bytes}, 1);
      emubd_reset(&world.device);
      world.device.fail_at = call;
      const int error = insert(world, 1, 60);
      emubd_reset(&world.device);
      if (error != 0 && lunar_sync(&world.db) == LUNAR_E_FAILED) {
        ASSERT_EQ(world.mount(), 0);
      }
      ASSERT_EQ(insert(world, 3, 700), 0) << "call " << call;
      ASSERT_EQ(insert(world, 4, 1500), 0) << "call " << call;
      lunar_findings found{};
      ASSERT_EQ(lunar_check(&world.db, &found), 0) << found.text;
    }
  }
}

TEST(Volume, has_what_was_written_out_after_the_end_of_the_program) {
  for (const lunar_mode mode : {LUNAR_MODE_DISORDER, LUNAR_MODE_METADATA, LUNAR_MODE_DATA}) {
    World world({.mode = mode, .sectors = 1024, .keys = 100, .text_bytes_max = 300, .atomic_sectors = true}, 1);
    for (int operation = 0; operation < 200; ++operation) {
      ASSERT_EQ(world.step(), 0) << operation;
      const auto syncs = world.device.syncs;
      ASSERT_EQ(lunar_write_out(&world.db), 0);
      ASSERT_EQ(world.device.syncs, syncs);
      const State written_out = world.now;
      ASSERT_EQ(world.mount(), 0);  // as another program: no unmount, no loss on the device
      ASSERT_EQ(world.read(), written_out) << "mode " << mode << ", operation " << operation;
    }
  }
}

TEST(Volume, has_its_free_blocks_at_every_number_of_a_checkpoint) {
  for (const std::uint32_t checkpoints : {0xfffdU, 0xfffeU, 0xffffU, 0x10000U, 0xfffffffeU, 0xffffffffU}) {
    World world({.mode = LUNAR_MODE_DATA, .sectors = 1024}, 1);
    world.db.checkpoints = checkpoints;
    EXPECT_EQ(insert(world, 1, 1000), 0) << checkpoints;
    ASSERT_EQ(lunar_checkpoint(&world.db), 0);
    for (std::int64_t key = 2; key < 8; ++key) EXPECT_EQ(insert(world, key, 1000), 0) << checkpoints;
  }
}

TEST(Volume, is_found_again_when_the_numbers_of_groups_have_begun_again) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    World world({.mode = LUNAR_MODE_FULL, .sectors = 1024, .keys = 40}, seed);
    world.db.series.sequence = 0xffffffffU - 300 - world.random(300);
    // Once round the log, because earlier numbers in it would count as later ones.
    for (int i = 0; i < 300; ++i) ASSERT_EQ(lunar_checkpoint(&world.db), 0);
    for (int life = 0; life < 4; ++life) {
      for (int i = 0; i < 60; ++i) ASSERT_EQ(world.step(), 0);
      world.cut();
      ASSERT_EQ(world.mount(), 0) << "seed " << seed;
      ASSERT_EQ(world.read(), world.now) << "seed " << seed;
    }
  }
}

TEST(Volume, gives_the_blocks_of_a_dropped_table_back) {
  World world({.sectors = 512}, 1);
  lunar_schema schema{};
  ASSERT_EQ(lunar_table_schema(&world.table, &schema), 0);
  for (int round = 0; round < 20; ++round) {
    for (std::int64_t key = 0; key < 60; ++key) ASSERT_EQ(insert(world, key, 900), 0) << "round " << round;
    ASSERT_EQ(lunar_table_drop(&world.db, "rows"), 0);
    lunar_table none{};
    EXPECT_EQ(lunar_table_open(&world.db, "rows", &none), LUNAR_E_NO_TABLE);
    ASSERT_EQ(lunar_table_create(&world.db, "rows", &schema), 0);
    ASSERT_EQ(lunar_table_open(&world.db, "rows", &world.table), 0);
    EXPECT_EQ(count(world), 0U);
  }
}

lunar_problem problem(World& world) {
  lunar_findings found{};
  const int error = lunar_check(&world.db, &found);
  EXPECT_EQ(error, 0) << found.text;
  return static_cast<lunar_problem>(found.problem);
}

TEST(OpenTable, that_was_dropped_is_not_taken_for_the_one_with_its_number) {
  World world({.mode = LUNAR_MODE_DATA, .sectors = 2048}, 1);
  lunar_schema schema{};
  ASSERT_EQ(lunar_table_schema(&world.table, &schema), 0);
  for (std::int64_t key = 0; key < 20; ++key) ASSERT_EQ(insert(world, key, 900), 0);
  lunar_cursor cursor;
  char row[2000];
  lunar_value values[3];
  ASSERT_EQ(lunar_cursor_open(&cursor, &world.table, nullptr, nullptr, 0), 0);
  ASSERT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), 0);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(lunar_table_drop(&world.db, "rows"), 0);
    ASSERT_EQ(lunar_table_create(&world.db, "rows", &schema), 0);
    lunar_table reopened;
    ASSERT_EQ(lunar_table_open(&world.db, "rows", &reopened), 0);
    ASSERT_EQ(reopened.number, world.table.number);
    EXPECT_EQ(insert(world, 5, 900), LUNAR_E_NO_TABLE);
    EXPECT_EQ(remove(world, 5), LUNAR_E_NO_TABLE);
    EXPECT_EQ(lunar_cursor_next(&cursor, row, sizeof row, values), LUNAR_E_NO_TABLE);
    std::swap(world.table, reopened);
    EXPECT_EQ(insert(world, 5, 900), 0);
    EXPECT_EQ(count(world), 1U);
    EXPECT_EQ(problem(world), LUNAR_PROBLEM_NONE);
    EXPECT_EQ(round == 1 ? lunar_checkpoint(&world.db) : 0, 0);
  }
}

TEST(OpenTable, is_gone_when_its_creation_is_undone_and_back_when_its_dropping_is) {
  World world({.mode = LUNAR_MODE_DATA, .sectors = 2048}, 1);
  lunar_schema schema{};
  lunar_table other;
  std::uint64_t rows;
  ASSERT_EQ(lunar_table_schema(&world.table, &schema), 0);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(lunar_begin(&world.db), 0);
    ASSERT_EQ(lunar_table_create(&world.db, "other", &schema), 0);
    ASSERT_EQ(lunar_table_open(&world.db, "other", &other), 0);
    ASSERT_EQ(lunar_table_drop(&world.db, "rows"), 0);
    EXPECT_EQ(insert(world, round, 100), LUNAR_E_NO_TABLE);
    ASSERT_EQ(lunar_rollback(&world.db), 0);
    EXPECT_EQ(lunar_count(&other, &rows), LUNAR_E_NO_TABLE);
    EXPECT_EQ(insert(world, round, 100), 0);
    ASSERT_EQ(lunar_table_create(&world.db, "third", &schema), 0);
    EXPECT_EQ(lunar_count(&other, &rows), LUNAR_E_NO_TABLE) << "its number belongs to another table now";
    ASSERT_EQ(lunar_table_drop(&world.db, "third"), 0);
  }
  EXPECT_EQ(count(world), 3U);
}

TEST(OpenTable, is_still_the_same_after_a_cut_and_a_mount) {
  World world({.sectors = 2048}, 1);
  const lunar_table before = world.table;
  world.cut();
  ASSERT_EQ(world.mount(), 0);
  EXPECT_EQ(world.table.creation, before.creation) << "it is in the record and on the page";
}

TEST(Volume, has_room_at_once_after_a_table_that_filled_it_was_dropped) {
  World world({.mode = LUNAR_MODE_DATA, .sectors = 8192, .buffer_bytes = 131072, .log_bytes = 1 << 20}, 1);
  lunar_schema schema{};
  ASSERT_EQ(lunar_table_schema(&world.table, &schema), 0);
  std::int64_t key = 0;
  while (insert(world, key, 900) == 0) ++key;
  ASSERT_EQ(lunar_table_drop(&world.db, "rows"), 0);
  ASSERT_EQ(lunar_table_create(&world.db, "rows", &schema), 0);
  ASSERT_EQ(lunar_table_open(&world.db, "rows", &world.table), 0);
  for (std::int64_t k = 0; k < key * 8 / 10; ++k) ASSERT_EQ(insert(world, k, 900), 0) << k << " of " << key;
}

TEST(Volume, writes_neighbours_in_one_request_at_a_checkpoint) {
  World world({.mode = LUNAR_MODE_DATA, .sectors = 8192, .buffer_bytes = 131072, .log_bytes = 1 << 20}, 1);
  for (std::int64_t key = 0; key < 1000; ++key) ASSERT_EQ(insert(world, key, 60), 0);
  const auto writes = world.device.writes, sectors = world.device.sectors_written;
  ASSERT_EQ(lunar_checkpoint(&world.db), 0);
  EXPECT_GT(world.device.sectors_written - sectors, 50U);
  EXPECT_LT((world.device.writes - writes) * 3, world.device.sectors_written - sectors);
}

TEST(Transaction, that_is_rolled_back_leaves_no_trace) {
  World world({.sectors = 4096, .buffer_bytes = 16384, .log_bytes = 1 << 18}, 1);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(world.step(), 0);
  ASSERT_EQ(lunar_begin(&world.db), 0);
  for (std::int64_t key = 100; key < 140; ++key) ASSERT_EQ(insert(world, key, 300), 0);
  for (const auto& [key, row] : world.now) {
    if (key == other_table) continue;
    ASSERT_EQ(remove(world, key), 0);
  }
  ASSERT_EQ(lunar_rollback(&world.db), 0);
  EXPECT_EQ(world.read(), world.now);
}

TEST(Transaction, that_is_committed_outlives_a_cut_and_one_that_is_not_does_not) {
  for (const bool committed : {true, false}) {
    World world({.sectors = 4096, .buffer_bytes = 16384}, 1);
    ASSERT_EQ(lunar_begin(&world.db), 0);
    for (std::int64_t key = 0; key < 20; ++key) ASSERT_EQ(insert(world, key, 600), 0);
    if (committed) {
      ASSERT_EQ(lunar_commit(&world.db), 0);
    }
    world.cut();
    ASSERT_EQ(world.mount(), 0);
    EXPECT_EQ(count(world), committed ? 20U : 0U);
  }
}

// Updates random rows, more than the buffer holds, until one is refused. Returns the share of the log that they used.
double room_of_a_transaction(World& world, std::uint32_t rows) {
  const auto used = [&] { return world.db.series.log_used + world.db.log_before; };
  const auto update = [&](std::uint32_t among) {
    const lunar_value key = integer(world.random(among));
    const std::string text(100, static_cast<char>('a' + world.random(26)));
    const lunar_value value = blob(text);
    return lunar_update(&world.table, &key, 1, &value);
  };
  const auto hot = 1 + world.random(world.random(2) == 0 ? 20 : rows);
  for (auto n = world.random(6 * world.db.geometry.log_sectors); n > 0; --n) EXPECT_EQ(update(hot), 0);
  EXPECT_EQ(lunar_begin(&world.db), 0);
  const auto before = used();
  auto most = before;
  int error = 0;
  while ((error = update(rows)) == 0) most = std::max(most, used());
  EXPECT_EQ(error, LUNAR_E_TXN_FULL);
  EXPECT_EQ(lunar_rollback(&world.db), 0);
  return static_cast<double>(most - before) / world.db.geometry.log_sectors;
}

double least_room(const Options& options, std::uint32_t rows, std::uint64_t trials) {
  World world(options, test_seed());
  for (std::int64_t key = 0; key < rows; ++key) EXPECT_EQ(insert(world, key, 100), 0);
  double least = 1;
  for (std::uint64_t i = 0; i < trials; ++i) least = std::min(least, room_of_a_transaction(world, rows));
  return least;
}

// lunar_begin promises this.
TEST(Transaction, has_its_part_of_the_log_whenever_it_begins) {
  const auto trials = 30 / one_in(5);
  for (std::uint32_t log = 1U << 15; log <= 1U << 21; log *= 2) {
    for (const std::size_t buffer :
         {std::size_t{LUNAR_BUFFER_BYTES_MIN(512)}, std::size_t{1} << 16, std::size_t{1} << 18, std::size_t{1} << 20}) {
      const Options options{.mode = LUNAR_MODE_DATA, .sectors = 16384, .buffer_bytes = buffer, .log_bytes = log};
      EXPECT_GE(least_room(options, 3000, trials), log >= 1U << 17   ? 0.48
                                                   : log >= 1U << 16 ? 0.4
                                                                     : 0.125)
          << "log " << log << ", buffer " << buffer;
    }
  }
}

TEST(Transaction, has_two_fifths_of_the_log_with_three_indexes) {
  const auto trials = 10 / one_in(5);
  for (const std::uint32_t log : {1U << 18, 1U << 19}) {
    for (const std::size_t buffer : {std::size_t{1} << 16, std::size_t{1} << 18}) {
      const Options options{
          .mode = LUNAR_MODE_DATA, .sectors = 32768, .buffer_bytes = buffer, .log_bytes = log, .secondary = 3};
      EXPECT_GE(least_room(options, 1000, trials), 0.4) << "log " << log << ", buffer " << buffer;
    }
  }
}

TEST(Transaction, larger_than_half_the_log_is_rolled_back_with_its_own_error) {
  World world({.sectors = 4096}, 1);
  ASSERT_EQ(lunar_begin(&world.db), 0);
  int error = 0;
  for (std::int64_t key = 0; error == 0 && key < 4000; ++key) error = insert(world, key, 200);
  EXPECT_EQ(error, LUNAR_E_TXN_FULL);
  EXPECT_EQ(insert(world, 1, 200), LUNAR_E_TXN) << "what was to follow does not count singly";
  EXPECT_EQ(lunar_commit(&world.db), LUNAR_E_TXN);
  EXPECT_EQ(count(world), 0U);
  EXPECT_EQ(insert(world, 1, 200), 0);
}

TEST(Mount, refuses_what_is_no_volume) {
  emubd device{};
  ASSERT_EQ(emubd_open(&device, 512, 256), 0);
  lunar_config config{};
  emubd_config(&device, &config);
  void* buffer[LUNAR_BUFFER_BYTES_MIN(512) / sizeof(void*)];
  config.buffer = buffer, config.buffer_bytes = sizeof buffer;
  lunar db{};
  EXPECT_EQ(lunar_mount(&db, &config), LUNAR_E_NO_VOLUME);
  ASSERT_EQ(lunar_format(&config), 0);
  EXPECT_EQ(lunar_mount(&db, &config), 0);
  config.buffer_bytes -= 8;
  EXPECT_EQ(lunar_mount(&db, &config), LUNAR_E_BUFFER);
  emubd_close(&device);
}

TEST(Mount, that_is_refused_leaves_a_handle_that_is_not_mounted) {
  lunar_config config{};
  lunar db;
  std::memset(static_cast<void*>(&db), 0xff, sizeof db);
  EXPECT_EQ(lunar_mount(&db, &config), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_unmount(&db), LUNAR_E_INVALID);
}

// Each sector in turn is unreadable. After an unmount the log has no further groups, so skipping the sector loses
// nothing; where it had the last checkpoint, the table is repaired, because the sector may have had an operation. After
// a cut the groups behind the sector are lost, and the state is that of an earlier moment.
void mount_with_each_sector_unreadable(bool unmounted, const Options& options = {.sectors = 1024, .keys = 20},
                                       std::uint64_t seed = 1) {
  std::uint32_t refused = 0, skipped = 0, lost = 0, repaired = 0;
  for (std::uint32_t sector = 0; sector < options.sectors; ++sector) {
    World world(options, seed);
    std::vector<State> moments(1);
    for (int i = 0; i < 60; ++i) {
      ASSERT_EQ(world.step(), 0);
      moments.push_back(world.now);
    }
    if (unmounted)
      ASSERT_EQ(world.unmount(), 0);
    else
      world.cut();
    emubd_set_bad(&world.device, sector, EMUBD_BAD_READ);
    const int error = world.mount();
    if (error == 0) continue;
    ASSERT_EQ(error, LUNAR_E_IO);
    refused++;
    world.config().skip_unreadable = 1;
    if (world.mount() != 0) continue;
    emubd_set_bad(&world.device, sector, 0);
    skipped++;
    auto state = world.read();
    if (!state) {  // or a record changes the page that this sector had
      lunar_losses losses{};
      ASSERT_EQ(lunar_repair(&world.table, &losses), 0) << "sector " << sector;
      EXPECT_EQ(problem(world), LUNAR_PROBLEM_NONE) << "sector " << sector;
      state = world.read();
      ASSERT_TRUE(state) << "sector " << sector;
      ++repaired;
      if (!unmounted) continue;
    }
    ASSERT_TRUE(state) << "sector " << sector;
    if (unmounted) {
      EXPECT_EQ(*state, world.now) << "sector " << sector;
    } else {
      EXPECT_NE(std::find(moments.begin(), moments.end(), *state), moments.end()) << "sector " << sector;
      lost += *state != world.now;
    }
    EXPECT_EQ(problem(world), LUNAR_PROBLEM_NONE) << "sector " << sector;
  }
  std::printf("%u sectors stop a mount, %u of them not when skipped, %u at a loss, %u after a repair\n", refused,
              skipped, lost, repaired);
  EXPECT_GT(skipped, 1U);
  EXPECT_EQ(skipped, refused);
  EXPECT_EQ(lost + (unmounted ? 0 : repaired) > 0, !unmounted);
  EXPECT_LE(repaired, unmounted ? 1U : skipped);
}

TEST(Mount, passes_over_an_unreadable_sector_behind_the_last_operation_if_asked) {
  mount_with_each_sector_unreadable(true);
}

TEST(Mount, goes_back_to_before_an_unreadable_operation_if_asked) { mount_with_each_sector_unreadable(false); }

// After an unmount no single sector of the log is needed. An image in it may be a row's sector that begins with a group
// of rows, which is no group of the log.
TEST(Mount, that_skips_an_unreadable_sector_of_the_log_loses_nothing_after_an_unmount) {
  for (std::uint64_t seed = 1; seed <= 12 / one_in(4); ++seed) {
    const Options options{.mode = LUNAR_MODE_DATA,
                          .sectors = 1024,
                          .buffer_bytes = 16384,
                          .log_bytes = 1 << 17,
                          .keys = 60,
                          .text_bytes_max = 300,
                          .first_rows = 40};
    World world(options, seed);
    for (int i = 0; i < 60; ++i) ASSERT_EQ(world.step(), 0);
    ASSERT_EQ(world.unmount(), 0);
    const std::vector<std::uint8_t> content(world.device.sectors,
                                            world.device.sectors + std::size_t{512} * options.sectors);
    world.config().skip_unreadable = 1;
    for (std::uint32_t i = 0; i < world.db.geometry.log_sectors; ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", sector " + std::to_string(i) + " of the log");
      emubd_set_bad(&world.device, world.db.geometry.log_at + i, EMUBD_BAD_READ);
      ASSERT_EQ(world.mount(), 0);
      lunar_losses losses{};
      auto state = world.read();
      if (!state) {
        ASSERT_EQ(lunar_repair(&world.table, &losses), 0);
        state = world.read();
      }
      EXPECT_EQ(losses.rows, 0U);
      ASSERT_TRUE(state && *state == world.now);
      emubd_set_bad(&world.device, world.db.geometry.log_at + i, 0);
      EXPECT_EQ(problem(world), LUNAR_PROBLEM_NONE);
      world.device.mounted = nullptr;
      std::copy(content.begin(), content.end(), world.device.sectors);
    }
  }
}

// The checkpoint that an unmount writes may come to lie in a sector that keeps nothing.
TEST(Mount, after_an_unmount_needs_no_sector_of_the_log_that_was_unreadable_before) {
  const Options options{.sectors = 1024, .log_bytes = 64 * 512, .keys = 60, .first_rows = 40};
  for (std::uint32_t i = 0; i < 64; ++i) {
    SCOPED_TRACE("sector " + std::to_string(i) + " of the log");
    World world(options, test_seed() + i);
    for (int step = 0; step < 60; ++step) ASSERT_EQ(world.step(), 0);
    emubd_set_bad(&world.device, world.db.geometry.log_at + i, EMUBD_BAD_READ);
    ASSERT_EQ(world.unmount(), 0);
    world.config().skip_unreadable = 1;
    ASSERT_EQ(world.mount(), 0);
    const auto state = world.read();
    ASSERT_TRUE(state && *state == world.now);
  }
}

// Pages in place may be later than the end of what can be read.
TEST(Mount, finds_that_the_end_of_the_log_is_unreadable) {
  const Options options{.sectors = 1024, .log_bytes = 256 * 512, .keys = 60, .first_rows = 40, .spills_max = 5};
  for (std::uint64_t seed = 1; seed <= 8 / one_in(4); ++seed) mount_with_each_sector_unreadable(false, options, seed);
}

TEST(Mount, does_not_take_another_size_of_sectors_for_damage) {
  for (const std::uint32_t sector_bytes : {512U, 4096U}) {
    emubd device{};
    ASSERT_EQ(emubd_open(&device, sector_bytes, 2048), 0);
    lunar_config config{};
    emubd_config(&device, &config);
    std::vector<void*> buffer(65536 / sizeof(void*));
    config.buffer = buffer.data(), config.buffer_bytes = 65536;
    ASSERT_EQ(lunar_format(&config), 0);
    emubd other{};
    const std::uint32_t other_bytes = 512 + 4096 - sector_bytes;
    ASSERT_EQ(emubd_open(&other, other_bytes, 2048 * sector_bytes / other_bytes), 0);
    std::memcpy(other.sectors, device.sectors, 2048 * static_cast<std::size_t>(sector_bytes));
    emubd_config(&other, &config);
    lunar db;
    EXPECT_EQ(lunar_mount(&db, &config), LUNAR_E_INVALID) << sector_bytes;
    emubd_close(&other);
    emubd_close(&device);
  }
}

}  // namespace
}  // namespace lunar_test
