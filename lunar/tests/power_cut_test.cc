// Power cuts at random moments of random workloads and during the recoveries. The state afterwards must be one that the
// mode permits. LUNAR_SEED=N replays a run.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <unordered_set>

#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

struct Outcome {
  std::size_t cuts = 0;
  std::unordered_set<std::uint64_t> images;  // hashes of distinct contents right after the cut
  std::size_t not_mounted = 0;
  std::size_t not_permitted = 0;
  std::size_t not_sound = 0;  // lunar_check reported a problem
  std::string problem;        // the last one's text
};

// Runs operations until the power fails, cuts again during the recovery, and compares. In a third of the lives only the
// program ends first: the recovery then reads its writes from the device's cache, which a cut in the recovery loses.
void one_life(World& world, Outcome& outcome) {
  emubd_reset(&world.device);
  world.device.cut_at = 1 + world.random(120);
  int error = 0;
  for (int i = 0; i < 60 && error == 0; ++i) error = world.random(12) == 0 ? world.sync() : world.step();
  bool the_power_goes = world.random(3) != 0;
  if (!the_power_goes) {
    emubd_reset(&world.device);
    world.device.cut_at = 1 + world.random(40);
    error = world.mount();
    the_power_goes = error == LUNAR_E_IO;
  }
  while (the_power_goes) {
    world.cut();
    ++outcome.cuts;
    outcome.images.insert(world.image_hash());
    if (world.random(3) == 0) world.device.cut_at = 1 + world.random(40);
    error = world.mount();
    the_power_goes = error == LUNAR_E_IO && world.device.cut_at != 0;
  }
  emubd_reset(&world.device);
  if (error != 0) {
    ++outcome.not_mounted;
    return;
  }
  lunar_findings found{};
  if (lunar_check(&world.db, &found) != 0) ++outcome.not_sound, outcome.problem = found.text;
  const auto state = world.read();
  if (!state || !world.permitted(*state)) ++outcome.not_permitted;
  if (state) world.go_on_from(*state);
}

Outcome lives(const Options& options, std::uint64_t seed, std::size_t cuts) {
  Outcome outcome;
  const auto goes_on = [&] {
    return outcome.cuts < cuts && outcome.not_mounted + outcome.not_permitted + outcome.not_sound == 0;
  };
  while (goes_on()) {
    World world(options, seed++);
    for (int i = 0; i < 50 && goes_on(); ++i) one_life(world, outcome);
  }
  return outcome;
}

struct Volume {
  Volume() {
    if (emubd_open(&device, 512, 4096) != 0) throw std::bad_alloc();
    emubd_config(&device, &config);
    config.buffer = buffer.data(), config.log_bytes = 1024 * 512, config.tables_max = 2;
  }
  ~Volume() { emubd_close(&device); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  int mount(lunar_mode mode, std::size_t buffer_bytes) {
    config.mode = mode, config.buffer_bytes = buffer_bytes;
    return lunar_mount(&db, &config);
  }

  emubd device{};
  lunar_config config{};
  lunar db{};
  std::vector<std::uint64_t> buffer = std::vector<std::uint64_t>(2048);
};

// The recovery in mode none has too few frames, but mode full has promised the groups of the log.
TEST(PowerCut, WhatModeFullKeptSurvivesACutInARecoveryInModeNone) {
  constexpr std::uint64_t rows = 60;
  for (const lunar_index index : {LUNAR_INDEX_HASH, LUNAR_INDEX_TREE}) {
    Volume was, is;
    lunar_schema schema{};
    schema.index = index, schema.column_count = 1;
    schema.columns[0].name[0] = 'k', schema.columns[0].type = LUNAR_INT64;
    lunar_table table;
    was.config.mode = LUNAR_MODE_FULL, was.config.buffer_bytes = 16384;
    ASSERT_EQ(lunar_format(&was.config), 0);
    ASSERT_EQ(was.mount(LUNAR_MODE_FULL, 16384), 0);
    ASSERT_EQ(lunar_table_create(&was.db, "t", &schema), 0);
    ASSERT_EQ(lunar_table_open(&was.db, "t", &table), 0);
    for (std::uint64_t i = 0; i < rows; ++i) {
      const lunar_value key = integer(static_cast<std::int64_t>(i * 0x9e3779b97f4a7c15U));
      ASSERT_EQ(lunar_insert(&table, &key), 0);
    }
    int error = LUNAR_E_IO;
    for (std::uint64_t at = 1; error != 0; ++at) {
      SCOPED_TRACE(at);
      ASSERT_EQ(emubd_copy(&is.device, &was.device), 0);
      emubd_reset(&is.device);
      is.device.cut_at = at;
      error = is.mount(LUNAR_MODE_NONE, LUNAR_BUFFER_BYTES_MIN(512));
      std::uint64_t random = at;
      emubd_cut(&is.device, &random, at % 2 != 0 ? 256 : 128, 0);
      emubd_reset(&is.device);
      const int again = is.mount(LUNAR_MODE_FULL, 16384);
      if (again == LUNAR_E_UNCLEAN) continue;
      ASSERT_EQ(again, 0);
      lunar_findings found{};
      ASSERT_EQ(lunar_check(&is.db, &found), 0) << found.text;
      ASSERT_EQ(found.rows, rows);
    }
  }
}

Options mode_none(std::uint64_t seed) {
  constexpr std::size_t buffers[] = {LUNAR_BUFFER_BYTES_MIN(512), 4096, 16384};
  return {.mode = LUNAR_MODE_NONE, .sectors = 2048, .buffer_bytes = buffers[seed % 3], .keys = 40};
}

TEST(CheckInModeNone, finds_nothing_after_a_sync_and_a_cut) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(mode_none(seed), seed);
    for (int i = 0; i < 60; ++i) ASSERT_EQ(world.step(), 0);
    ASSERT_EQ(world.sync(), 0);
    world.cut();
    ASSERT_EQ(world.mount(), 0);
    lunar_findings found{};
    EXPECT_EQ(lunar_check(&world.db, &found), 0) << found.text;
    EXPECT_EQ(world.read(), world.now);
  }
}

// Mode none fills an extent that another mode left open, without a log: recovery must not repeat the older log.
TEST(CheckInModeNone, finds_nothing_after_another_mode_a_sync_and_a_cut) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(mode_none(seed), seed);
    ASSERT_EQ(world.unmount(), 0);
    world.config().mode = LUNAR_MODE_FULL;
    ASSERT_EQ(world.mount(), 0);
    for (int i = 0; i < 60; ++i) ASSERT_EQ(world.step(), 0);
    ASSERT_EQ(world.unmount(), 0);
    world.config().mode = LUNAR_MODE_NONE;
    ASSERT_EQ(world.mount(), 0);
    for (int i = 0; i < 60; ++i) ASSERT_EQ(world.step(), 0);
    ASSERT_EQ(world.sync(), 0);
    world.cut();
    ASSERT_EQ(world.mount(), 0);
    lunar_findings found{};
    EXPECT_EQ(lunar_check(&world.db, &found), 0) << found.text;
    EXPECT_EQ(world.read(), world.now);
  }
}

class PowerCuts : public testing::TestWithParam<Setting> {};

TEST_P(PowerCuts, leave_a_state_that_the_mode_permits) {
  const std::size_t cuts = 1500 / one_in(5);
  const Outcome outcome = lives(GetParam().options, test_seed(), cuts);
  std::printf("%zu cuts, %zu distinct images\n", outcome.cuts, outcome.images.size());
  EXPECT_EQ(outcome.not_mounted, 0U);
  EXPECT_EQ(outcome.not_permitted, 0U);
  EXPECT_EQ(outcome.not_sound, 0U) << outcome.problem;
  EXPECT_GT(outcome.images.size(), cuts * 3 / 4);
}

constexpr std::uint32_t long_log = 1 << 17;

INSTANTIATE_TEST_SUITE_P(
    Modes, PowerCuts,
    testing::Values(
        // These two catch most mutants (mutants.cmake), so they run first.
        Setting{"metadata_secondary_16_KiB",
                {.mode = LUNAR_MODE_METADATA,
                 .sectors = 512,
                 .buffer_bytes = 16384,
                 .log_bytes = long_log,
                 .atomic_sectors = true,
                 .secondary = 1}},
        Setting{"disorder_128_KiB_of_log",
                {.mode = LUNAR_MODE_DISORDER,
                 .sectors = 512,
                 .buffer_bytes = 32768,
                 .log_bytes = long_log,
                 .index = LUNAR_INDEX_TREE,
                 .atomic_sectors = true}},
        Setting{"full_smallest_buffer", {.mode = LUNAR_MODE_FULL}},
        Setting{"full_16_KiB", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 16384}},
        Setting{"data_smallest_buffer", {.mode = LUNAR_MODE_DATA}},
        Setting{"data_16_KiB", {.mode = LUNAR_MODE_DATA, .buffer_bytes = 16384}},
        Setting{"full_128_KiB_of_log",
                {.mode = LUNAR_MODE_FULL, .sectors = 512, .buffer_bytes = 32768, .log_bytes = long_log}},
        Setting{"data_128_KiB_of_log",
                {.mode = LUNAR_MODE_DATA, .sectors = 512, .buffer_bytes = 32768, .log_bytes = long_log}},
        Setting{"data_64_KiB", {.mode = LUNAR_MODE_DATA, .sectors = 512, .buffer_bytes = 65536, .log_bytes = long_log}},
        Setting{
            "full_more_frames_than_the_log_holds_images",
            {.mode = LUNAR_MODE_FULL, .sectors = 1024, .buffer_bytes = 1 << 17, .log_bytes = long_log, .keys = 200}},
        Setting{
            "data_more_frames_than_the_log_holds_images",
            {.mode = LUNAR_MODE_DATA, .sectors = 1024, .buffer_bytes = 1 << 17, .log_bytes = long_log, .keys = 200}},
        Setting{"data_secondary_more_frames_than_the_log_holds_images",
                {.mode = LUNAR_MODE_DATA,
                 .sectors = 1024,
                 .buffer_bytes = 1 << 17,
                 .log_bytes = 192 * 512,
                 .keys = 150,
                 .secondary = 3}},
        Setting{"full_tree", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 4096, .index = LUNAR_INDEX_TREE}},
        Setting{"data_tree", {.mode = LUNAR_MODE_DATA, .buffer_bytes = 16384, .index = LUNAR_INDEX_TREE}},
        Setting{"full_ring", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 16384, .ring_rows = 9}},
        Setting{"data_ring", {.mode = LUNAR_MODE_DATA, .buffer_bytes = 4096, .ring_rows = 9}},
        Setting{"full_secondary", {.mode = LUNAR_MODE_FULL, .sectors = 448, .log_bytes = 192 * 512, .secondary = 3}},
        Setting{"data_secondary",
                {.mode = LUNAR_MODE_DATA,
                 .sectors = 384,
                 .log_bytes = 128 * 512,
                 .index = LUNAR_INDEX_TREE,
                 .secondary = 1}},
        Setting{
            "data_secondary_16_KiB",
            {.mode = LUNAR_MODE_DATA, .sectors = 512, .buffer_bytes = 16384, .log_bytes = long_log, .secondary = 3}},
        Setting{"data_secondary_of_a_ring",
                {.mode = LUNAR_MODE_DATA, .sectors = 448, .log_bytes = 208 * 512, .ring_rows = 9, .secondary = 2}},
        Setting{"metadata_secondary",
                {.mode = LUNAR_MODE_METADATA,
                 .sectors = 384,
                 .log_bytes = 128 * 512,
                 .atomic_sectors = true,
                 .secondary = 1}},
        Setting{"data_checksums",
                {.mode = LUNAR_MODE_DATA, .sectors = 384, .log_bytes = 128 * 512, .checksums = true, .secondary = 1}},
        Setting{"metadata_checksums",
                {.mode = LUNAR_MODE_METADATA,
                 .buffer_bytes = 16384,
                 .index = LUNAR_INDEX_TREE,
                 .atomic_sectors = true,
                 .checksums = true}},
        Setting{"metadata_smallest_buffer", {.mode = LUNAR_MODE_METADATA, .atomic_sectors = true}},
        Setting{"metadata_16_KiB", {.mode = LUNAR_MODE_METADATA, .buffer_bytes = 16384, .atomic_sectors = true}}),
    [](const auto& of) { return of.param.name; });

// Several pages are written in one request ahead of a checkpoint while groups wait in the stage.
TEST(GrowingTablePowerCuts, leave_every_row_that_was_synced) {
  for (std::int64_t rows = 10; rows < 800; rows += 10) {
    World world({.mode = LUNAR_MODE_DATA, .sectors = 2048, .buffer_bytes = 16384, .log_bytes = 1 << 18}, 1);
    const std::string text(30, 'x');
    for (std::int64_t key = 0; key < rows; ++key) {
      const lunar_value values[] = {integer(key * 7919 % 3000), blob(text), integer(1)};
      ASSERT_EQ(lunar_insert(&world.table, values), 0);
    }
    ASSERT_EQ(lunar_sync(&world.db), 0);
    world.cut();
    ASSERT_EQ(world.mount(), 0) << rows;
    lunar_findings found{};
    ASSERT_EQ(lunar_check(&world.db, &found), 0) << rows << ": " << found.text;
    ASSERT_EQ(found.rows, static_cast<std::uint64_t>(rows));
  }
}

// A copy of a world's device, handle and buffer, to which back() resets the world.
class Moment {
 public:
  explicit Moment(World& world) : world_(world), handle_(sizeof world.db), buffer_(world.config().buffer_bytes) {
    EXPECT_EQ(emubd_open(&device_, world.device.sector_bytes, world.device.sector_count), 0);
    EXPECT_EQ(emubd_copy(&device_, &world.device), 0);
    std::memcpy(handle_.data(), static_cast<const void*>(&world.db), handle_.size());
    std::memcpy(buffer_.data(), world.config().buffer, buffer_.size());
  }
  ~Moment() { emubd_close(&device_); }
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;
  void back() {
    EXPECT_EQ(emubd_copy(&world_.device, &device_), 0);
    std::memcpy(static_cast<void*>(&world_.db), handle_.data(), handle_.size());
    std::memcpy(world_.config().buffer, buffer_.data(), buffer_.size());
    emubd_reset(&world_.device);
  }

 private:
  World& world_;
  emubd device_{};
  std::vector<char> handle_, buffer_;
};

// Cuts a checkpoint at each of its writes, and the recovery after it at each of the recovery's writes. The recovery
// begins at the checkpoint's images if these begin a unit of the log, and must not complete them.
std::size_t cuts_in_a_checkpoint_and_its_recovery(World& world, std::uint64_t seed) {
  Moment before(world);
  std::size_t trials = 0;
  for (std::uint64_t at = 1;; ++at) {
    for (std::uint64_t subset = 0; subset < 12; ++subset) {
      before.back();
      world.device.cut_at = at;
      if (lunar_checkpoint(&world.db) == 0 || testing::Test::HasFailure()) {
        before.back();
        return trials;
      }
      std::uint64_t random = ((seed * 100 + at) * 100 + subset) * 2654435761U + 1;
      emubd_cut(&world.device, &random, subset == 0 ? 256 : 128, subset % 2 != 0 ? 64 : 0);
      Moment cut(world);
      int error = -1;
      for (std::uint64_t in_recovery = 1; error != 0 && !testing::Test::HasFailure(); ++in_recovery, ++trials) {
        cut.back();
        world.device.cut_at = in_recovery;
        error = world.mount();
        std::uint64_t other = random + in_recovery;
        emubd_cut(&world.device, &other, subset % 3 == 0 ? 256 : 128, 0);
        emubd_reset(&world.device);
        EXPECT_EQ(world.mount(), 0) << "write " << at << ", subset " << subset << ", of recovery " << in_recovery;
        EXPECT_EQ(world.read(), world.now)
            << "write " << at << ", subset " << subset << ", of recovery " << in_recovery;
      }
    }
  }
}

TEST(CheckpointPowerCuts, lose_nothing_although_the_recovery_is_cut_off_too) {
  const auto first = test_seed();
  std::size_t trials = 0;
  for (std::uint64_t seed = first; seed < first + 100 / one_in(5); ++seed) {
    World world({.mode = LUNAR_MODE_FULL}, seed);
    for (int i = 0; i < 60 && world.step() == 0; ++i) {
      const bool begins_a_unit = world.db.series.log_head % world.db.geometry.unit_sectors == 0;
      if (begins_a_unit && world.db.stage_used == 0 && world.db.frames_dirty == 2)
        trials += cuts_in_a_checkpoint_and_its_recovery(world, seed);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << i;
    }
  }
  EXPECT_GT(trials, 20000U / one_in(5));
}

// A recovery repeats the transaction's spills behind them in the log: with four frames that is most of the log.
class TransactionPowerCuts : public testing::TestWithParam<std::size_t> {};

TEST_P(TransactionPowerCuts, leave_room_in_the_log_for_their_recovery) {
  int committed = 0;
  for (std::int64_t rows = 1;; ++rows) {
    World world({.mode = LUNAR_MODE_DATA, .sectors = 8192, .buffer_bytes = GetParam(), .log_bytes = 256 * 512}, 1);
    const auto insert_row = [&](std::int64_t key) {
      const std::string none;
      const auto mixed = static_cast<std::int64_t>(static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15U);
      const lunar_value values[] = {integer(mixed), blob(none), integer(1)};
      return lunar_insert(&world.table, values);
    };
    for (std::int64_t key = 0; key < 600; ++key) ASSERT_EQ(insert_row(key), 0);
    ASSERT_EQ(lunar_begin(&world.db), 0);
    int error = 0;
    for (std::int64_t key = 0; key < rows && error == 0; ++key) error = insert_row(1000 * rows + key);
    if (error == LUNAR_E_TXN_FULL) break;
    ASSERT_EQ(error, 0);
    ASSERT_EQ(lunar_commit(&world.db), 0);
    ASSERT_EQ(lunar_sync(&world.db), 0);
    world.cut();
    ASSERT_EQ(world.mount(), 0) << rows;
    ++committed;
  }
  EXPECT_GT(committed, 10);
}

INSTANTIATE_TEST_SUITE_P(Buffers, TransactionPowerCuts,
                         testing::Values(std::size_t{LUNAR_BUFFER_BYTES_MIN(512)}, std::size_t{1} << 18));

TEST(PowerCutsMutant, a_device_that_ignores_flushes_is_caught) {
  const Outcome outcome = lives({.device_ignores_sync = true}, test_seed(), 200);
  EXPECT_GT(outcome.not_mounted + outcome.not_permitted, 0U);
}

}  // namespace
}  // namespace lunar_test
