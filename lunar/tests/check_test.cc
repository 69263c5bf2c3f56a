// lunar_check reports nothing after random lives, and reports each deliberate damage.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "damage.h"
#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

struct Life {
  const char* name;
  Options options;
  int steps;
};

class Check : public testing::TestWithParam<Life> {};

TEST_P(Check, finds_nothing_after_a_random_life) {
  const Life& life = GetParam();
  const auto first = test_seed(), lives = 2 / one_in(2);
  for (auto seed = first; seed < first + lives; ++seed) {
    World world(life.options, seed);
    for (int i = 0; i < life.steps; ++i) {
      ASSERT_EQ(world.random(12) == 0 ? world.sync() : world.step(), 0) << "seed " << seed << " step " << i;
      if (i % 32 != 0) continue;
      lunar_findings found{};
      ASSERT_EQ(lunar_check(&world.db, &found), 0) << "seed " << seed << " step " << i << ": " << found.text
                                                   << ", table " << found.table << ", sector " << found.sector;
      EXPECT_EQ(found.rows, rows_of(world.now));
      EXPECT_EQ(found.index_entries, found.rows * (1 + life.options.secondary + world.now.count(other_index)));
    }
    EXPECT_EQ(world.read(), world.now);
  }
}

constexpr std::size_t smallest = LUNAR_BUFFER_BYTES_MIN(512);

INSTANTIATE_TEST_SUITE_P(
    Lives, Check,
    testing::Values(
        Life{"full_smallest_buffer", {.mode = LUNAR_MODE_FULL, .sectors = 1024, .keys = 60}, 600},
        Life{"data_smallest_buffer", {.mode = LUNAR_MODE_DATA, .sectors = 1024, .keys = 60}, 600},
        Life{"metadata_smallest_buffer", {.mode = LUNAR_MODE_METADATA, .sectors = 1024, .keys = 60}, 600},
        Life{"disorder_smallest_buffer", {.mode = LUNAR_MODE_DISORDER, .sectors = 1024, .keys = 60}, 600},
        Life{"none_smallest_buffer", {.mode = LUNAR_MODE_NONE, .sectors = 1024, .keys = 60}, 600},
        Life{"full_64_KiB", {.mode = LUNAR_MODE_FULL, .sectors = 4096, .buffer_bytes = 65536, .keys = 300}, 1000},
        Life{"data_64_KiB", {.mode = LUNAR_MODE_DATA, .sectors = 4096, .buffer_bytes = 65536, .keys = 300}, 1000},
        Life{"full_small_rows", {.mode = LUNAR_MODE_FULL, .sectors = 2048, .keys = 500, .text_bytes_max = 80}, 3000},
        Life{"full_tree",
             {.mode = LUNAR_MODE_FULL, .sectors = 2048, .keys = 500, .text_bytes_max = 200, .index = LUNAR_INDEX_TREE},
             1500},
        Life{"data_ring", {.mode = LUNAR_MODE_DATA, .sectors = 1024, .keys = 200, .ring_rows = 30}, 1500},
        Life{"data_tree_of_a_ring",
             {.mode = LUNAR_MODE_DATA, .sectors = 1024, .keys = 200, .index = LUNAR_INDEX_TREE, .ring_rows = 30},
             1500},
        Life{"data_secondary",
             {.mode = LUNAR_MODE_DATA, .sectors = 1024, .log_bytes = 128 * 512, .keys = 100, .secondary = 1},
             800},
        Life{"full_secondary",
             {.mode = LUNAR_MODE_FULL, .sectors = 1024, .log_bytes = 192 * 512, .keys = 100, .secondary = 3},
             800},
        Life{"metadata_secondary_16_KiB",
             {.mode = LUNAR_MODE_METADATA,
              .sectors = 1024,
              .buffer_bytes = 16384,
              .log_bytes = 512 * 512,
              .keys = 200,
              .text_bytes_max = 300,
              .index = LUNAR_INDEX_TREE,
              .atomic_sectors = true,
              .secondary = 3},
             800},
        Life{"none_secondary",
             {.mode = LUNAR_MODE_NONE, .sectors = 640, .log_bytes = 192 * 512, .keys = 200, .secondary = 3},
             800},
        Life{"data_secondary_of_a_ring",
             {.mode = LUNAR_MODE_DATA,
              .sectors = 1024,
              .log_bytes = 208 * 512,
              .keys = 200,
              .ring_rows = 30,
              .secondary = 2},
             1000},
        Life{"metadata_checksums",
             {.mode = LUNAR_MODE_METADATA,
              .sectors = 1024,
              .log_bytes = 128 * 512,
              .keys = 100,
              .atomic_sectors = true,
              .checksums = true,
              .secondary = 1},
             800},
        Life{"full_checksums_of_a_ring",
             {.mode = LUNAR_MODE_FULL, .sectors = 1024, .keys = 200, .ring_rows = 30, .checksums = true},
             1500},
        Life{"data_full_device", {.mode = LUNAR_MODE_DATA, .sectors = 256, .keys = 200}, 1000},
        Life{"full_large_sectors",
             {.mode = LUNAR_MODE_FULL,
              .sectors = 1024,
              .sector_bytes = 4096,
              .buffer_bytes = LUNAR_BUFFER_BYTES_MIN(4096),
              .keys = 300,
              .text_bytes_max = 9000},
             800}),
    [](const auto& of) { return of.param.name; });

// Returns a world with the structures that the damage needs.
std::unique_ptr<World> world_to_damage(const damage& damage) {
  const Options options{
      .sectors = 2048, .buffer_bytes = 16384, .keys = 400, .text_bytes_max = 600, .index = damage.index};
  auto world = std::make_unique<World>(options, 1);
  for (int i = 0; i < 20000; ++i) {
    if (world->step() != 0) return nullptr;
    if (i % 50 == 0 && damage_begin(&world->db) == 0 && damage_possible(&world->db) != 0) return world;
  }
  return nullptr;
}

TEST(CheckDamage, of_every_kind_is_found_and_distinguished_from_the_others) {
  for (unsigned i = 0; i < damage_count; ++i) {
    const auto world = world_to_damage(damages[i]);
    ASSERT_NE(world, nullptr);
    damages[i].make(&world->db);
    const std::string before(reinterpret_cast<const char*>(world->device.sectors), 2048U * 512U);
    lunar_findings found{};
    EXPECT_EQ(lunar_check(&world->db, &found), LUNAR_E_CORRUPT) << damages[i].name;
    EXPECT_EQ(found.problem, damages[i].problem) << damages[i].name << ": " << found.text;
    EXPECT_TRUE(before == std::string(reinterpret_cast<const char*>(world->device.sectors), 2048U * 512U));
  }
}

// The damage is reported, nothing is written to it, and no call loops on it.
TEST(CheckDamage, of_secondary_indexes_is_found_and_survived) {
  for (unsigned i = 0; i < index_damage_count; ++i) {
    World world({.mode = LUNAR_MODE_DATA, .sectors = 1024, .log_bytes = 160 * 512, .keys = 60, .secondary = 2}, 1);
    for (int step = 0; step < 100; ++step) ASSERT_EQ(world.step(), 0);
    ASSERT_EQ(lunar_index_drop(&world.db, "tree by number"), 0);
    ASSERT_EQ(lunar_index_create(&world.db, "rows", "another", 2, LUNAR_INDEX_HASH), 0);
    for (int again = 0; again < 2; ++again) {  // then the log has no page images, which would repair the damage
      ASSERT_EQ(lunar_unmount(&world.db), 0);
      ASSERT_EQ(world.mount(), 0);
    }
    ASSERT_EQ(damage_begin(&world.db), 0);
    index_damages[i].make(&world.db);
    lunar_findings found{};
    EXPECT_EQ(lunar_check(&world.db, &found), LUNAR_E_CORRUPT) << index_damages[i].name;
    EXPECT_EQ(found.problem, index_damages[i].problem) << index_damages[i].name << ": " << found.text;
    const int dropped = lunar_table_drop(&world.db, "rows");
    EXPECT_TRUE(dropped == 0 || dropped == LUNAR_E_CORRUPT) << index_damages[i].name << ": " << dropped;
  }
}

TEST(CheckDamage, provokes_every_problem_that_has_a_text) {
  std::set<int> provoked;
  for (unsigned i = 0; i < damage_count; ++i) provoked.insert(damages[i].problem);
  provoked.insert(LUNAR_PROBLEM_ROW_CHECKSUM);  // damage_test.cc
  for (int problem = LUNAR_PROBLEM_NONE + 1; problem < LUNAR_PROBLEM_END; ++problem) {
    EXPECT_EQ(provoked.count(problem), 1U) << "problem " << problem;
  }
}

TEST(CheckDamage, is_absent_where_none_was_made) {
  for (unsigned i = 0; i < damage_count; i += damage_count - 1) {
    const auto world = world_to_damage(damages[i]);
    ASSERT_NE(world, nullptr);
    lunar_findings found{};
    EXPECT_EQ(lunar_check(&world->db, &found), 0) << found.text;
    EXPECT_EQ(found.tables, 2U);
  }
}

// A damaged allocation map may allocate or free a page in use.
TEST(PinnedFrame, is_neither_made_again_nor_forgotten) {
  World world({.sectors = 1024}, 1);
  ASSERT_EQ(lunar_checkpoint(&world.db), 0);
  EXPECT_EQ(damage_make_pinned_fresh(&world.db), LUNAR_E_CORRUPT);
  EXPECT_EQ(damage_forget_pinned(&world.db), LUNAR_E_CORRUPT);
  lunar_findings found{};
  EXPECT_EQ(lunar_check(&world.db, &found), 0) << found.text;
}

TEST(GroupOfTheLog, that_is_said_to_be_of_four_GiB_ends_the_mount_with_an_error) {
  World world({.sectors = 1024}, 1);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(world.step(), 0);
  ASSERT_EQ(lunar_unmount(&world.db), 0);
  damage_group_bytes(&world.db);
  EXPECT_EQ(world.mount(), LUNAR_E_CORRUPT);
}

TEST(CheckInATransaction, is_refused) {
  World world({.sectors = 1024}, 1);
  lunar_findings found{};
  ASSERT_EQ(lunar_begin(&world.db), 0);
  EXPECT_EQ(lunar_check(&world.db, &found), LUNAR_E_TXN);
  ASSERT_EQ(lunar_rollback(&world.db), 0);
  EXPECT_EQ(lunar_check(&world.db, &found), 0);
}

TEST(CheckOfAFailingDevice, says_so_and_finds_no_problem) {
  World world({.sectors = 1024, .keys = 60}, 1);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(world.step(), 0);
  ASSERT_EQ(lunar_checkpoint(&world.db), 0);
  lunar_findings found{};
  for (std::uint64_t call = 1;; ++call) {
    emubd_reset(&world.device);
    world.device.fail_at = call;
    const int error = lunar_check(&world.db, &found);
    if (error == 0) break;
    EXPECT_EQ(error, LUNAR_E_IO) << "call " << call;
    EXPECT_EQ(found.problem, LUNAR_PROBLEM_NONE);
  }
  emubd_reset(&world.device);
  EXPECT_EQ(world.read(), world.now);
  lunar_statistics stat{};
  ASSERT_EQ(lunar_stat(&world.db, &stat), 0);
  EXPECT_EQ(stat.frames_pinned, 0U);
}

TEST(Stat, counts_what_the_device_saw_and_what_is_stored) {
  World world({.mode = LUNAR_MODE_FULL, .sectors = 1024, .keys = 60}, 1);
  lunar_statistics before{}, after{};
  ASSERT_EQ(lunar_stat(&world.db, &before), 0);
  const emubd device = world.device;
  for (int i = 0; i < 300; ++i) ASSERT_EQ(world.step(), 0);
  ASSERT_EQ(lunar_stat(&world.db, &after), 0);
  EXPECT_EQ(after.reads - before.reads, world.device.reads - device.reads);
  EXPECT_EQ(after.writes - before.writes, world.device.writes - device.writes);
  EXPECT_EQ(after.flushes - before.flushes, world.device.syncs - device.syncs);
  EXPECT_EQ(after.sectors_read - before.sectors_read, world.device.sectors_read - device.sectors_read);
  EXPECT_EQ(after.sectors_written - before.sectors_written, world.device.sectors_written - device.sectors_written);
  EXPECT_EQ(after.tables, 1U + world.now.count(other_table));
  EXPECT_EQ(after.super_bytes + after.root_bytes + after.meta_bytes + after.map_bytes + after.log_bytes,
            512U * world.db.geometry.data_at);
  EXPECT_LE(512U * world.db.geometry.data_at + after.data_bytes, 512U * 1024U);
  EXPECT_GT(after.checkpoints, before.checkpoints);
  EXPECT_EQ(after.frames, 4U);
  EXPECT_EQ(after.frames_pinned, 0U);
  lunar_findings found{};
  ASSERT_EQ(lunar_check(&world.db, &found), 0);
  EXPECT_EQ(after.chunks_free, found.chunks_free);
  EXPECT_EQ(after.chunks_used, found.chunks_used);
  EXPECT_EQ(after.mode, LUNAR_MODE_FULL);
}

}  // namespace
}  // namespace lunar_test
