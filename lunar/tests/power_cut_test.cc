// Power cuts at random moments of random workloads, and again during the recovery from them: what is found afterwards
// is what the mode permits. A replay: LUNAR_SEED=N.
#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

struct Outcome {
  std::size_t cuts = 0;
  std::unordered_set<std::uint64_t> images;  // distinct, as they were right after the cut
  std::size_t not_mounted = 0;
  std::size_t not_permitted = 0;
  std::size_t not_sound = 0;  // lunar_check found a problem
  std::string problem;        // the last of them
};

// Works until the power goes (or not), cuts, cuts again while it recovers, and compares.
void one_life(World& world, Outcome& outcome) {
  emubd_reset(&world.device);
  world.device.cut_at = 1 + world.random(120);
  int error = 0;
  for (int i = 0; i < 60 && error == 0; ++i) error = world.random(12) == 0 ? world.sync() : world.step();
  do {
    world.cut();
    ++outcome.cuts;
    outcome.images.insert(world.image_hash());
    if (world.random(3) == 0) world.device.cut_at = 1 + world.random(40);
    error = world.mount();
  } while (error == LUNAR_E_IO && world.device.cut_at != 0);
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

// Recovery needs more frames than there are, and the groups are of a mode that promised them.
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

class PowerCuts : public testing::TestWithParam<Setting> {};

TEST_P(PowerCuts, leave_a_state_that_the_mode_permits) {
  const std::size_t cuts = 1500 / one_in(5);
  const Outcome outcome = lives(GetParam().options, seed_told(), cuts);
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
        Setting{"full_smallest_buffer", {.mode = LUNAR_MODE_FULL}},
        Setting{"full_16_KiB", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 16384}},
        Setting{"data_smallest_buffer", {.mode = LUNAR_MODE_DATA}},
        Setting{"data_16_KiB", {.mode = LUNAR_MODE_DATA, .buffer_bytes = 16384}},
        Setting{"full_128_KiB_of_log",
                {.mode = LUNAR_MODE_FULL, .sectors = 512, .buffer_bytes = 32768, .log_bytes = long_log}},
        Setting{"data_128_KiB_of_log",
                {.mode = LUNAR_MODE_DATA, .sectors = 512, .buffer_bytes = 32768, .log_bytes = long_log}},
        Setting{"data_64_KiB", {.mode = LUNAR_MODE_DATA, .sectors = 512, .buffer_bytes = 65536, .log_bytes = long_log}},
        Setting{"full_tree", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 4096, .index = LUNAR_INDEX_TREE}},
        Setting{"data_tree", {.mode = LUNAR_MODE_DATA, .buffer_bytes = 16384, .index = LUNAR_INDEX_TREE}},
        Setting{"full_ring", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 16384, .ring_rows = 9}},
        Setting{"data_ring", {.mode = LUNAR_MODE_DATA, .buffer_bytes = 4096, .ring_rows = 9}},
        Setting{"metadata_smallest_buffer", {.mode = LUNAR_MODE_METADATA, .atomic_sectors = true}},
        Setting{"metadata_16_KiB", {.mode = LUNAR_MODE_METADATA, .buffer_bytes = 16384, .atomic_sectors = true}},
        Setting{"disorder_128_KiB_of_log",
                {.mode = LUNAR_MODE_DISORDER,
                 .sectors = 512,
                 .buffer_bytes = 32768,
                 .log_bytes = long_log,
                 .index = LUNAR_INDEX_TREE,
                 .atomic_sectors = true}}),
    [](const auto& of) { return of.param.name; });

TEST(PowerCutsMutant, a_device_that_ignores_flushes_is_caught) {
  const Outcome outcome = lives({.device_ignores_sync = true}, seed_told(), 200);
  EXPECT_GT(outcome.not_mounted + outcome.not_permitted, 0U);
}

}  // namespace
}  // namespace lunar_test
