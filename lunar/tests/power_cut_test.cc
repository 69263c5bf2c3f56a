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
