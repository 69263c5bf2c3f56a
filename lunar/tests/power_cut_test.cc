// Power cuts at random moments of random workloads, and again during the recovery from them: what is found afterwards
// is what the mode permits. A replay: LUNAR_SEED=N.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <unordered_set>

#include "world.h"

namespace lunar_test {
namespace {

std::uint64_t seed_told() {
  const char* told = std::getenv("LUNAR_SEED");
  return told != nullptr ? std::strtoull(told, nullptr, 10) : 1;
}

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

struct Case {
  const char* name;
  lunar_mode mode;
  std::size_t buffer_bytes;
  std::uint32_t log_bytes = 0;
  lunar_index index = LUNAR_INDEX_HASH;
  std::uint32_t ring_rows = 0;
  bool atomic_sectors = false;
};

class PowerCuts : public testing::TestWithParam<Case> {};

TEST_P(PowerCuts, leave_a_state_that_the_mode_permits) {
  const Case& c = GetParam();
  const std::uint32_t sectors = c.log_bytes == 0 ? 256 : 512;
  const Options options{.mode = c.mode,
                        .sectors = sectors,
                        .buffer_bytes = c.buffer_bytes,
                        .log_bytes = c.log_bytes,
                        .index = c.index,
                        .atomic_sectors = c.atomic_sectors,
                        .ring_rows = c.ring_rows};
  constexpr std::size_t cuts = 1500;
  const auto seed = seed_told();
  const Outcome outcome = lives(options, seed, cuts);
  std::printf("seed %llu: %zu cuts, %zu distinct images\n", static_cast<unsigned long long>(seed), outcome.cuts,
              outcome.images.size());
  EXPECT_EQ(outcome.not_mounted, 0U);
  EXPECT_EQ(outcome.not_permitted, 0U);
  EXPECT_EQ(outcome.not_sound, 0U) << outcome.problem;
  EXPECT_GT(outcome.images.size(), cuts * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, PowerCuts,
    testing::Values(Case{"full_smallest_buffer", LUNAR_MODE_FULL, LUNAR_BUFFER_BYTES_MIN(512)},
                    Case{"full_16_KiB", LUNAR_MODE_FULL, 16384},
                    Case{"data_smallest_buffer", LUNAR_MODE_DATA, LUNAR_BUFFER_BYTES_MIN(512)},
                    Case{"data_16_KiB", LUNAR_MODE_DATA, 16384},
                    Case{"full_128_KiB_of_log", LUNAR_MODE_FULL, 32768, 1 << 17},
                    Case{"data_128_KiB_of_log", LUNAR_MODE_DATA, 32768, 1 << 17},
                    Case{"data_64_KiB", LUNAR_MODE_DATA, 65536, 1 << 17},
                    Case{"full_tree", LUNAR_MODE_FULL, 4096, 0, LUNAR_INDEX_TREE},
                    Case{"data_tree", LUNAR_MODE_DATA, 16384, 0, LUNAR_INDEX_TREE},
                    Case{"full_ring", LUNAR_MODE_FULL, 16384, 0, LUNAR_INDEX_HASH, 9},
                    Case{"data_ring", LUNAR_MODE_DATA, 4096, 0, LUNAR_INDEX_HASH, 9},
                    Case{"metadata_smallest_buffer", LUNAR_MODE_METADATA, LUNAR_BUFFER_BYTES_MIN(512), 0,
                         LUNAR_INDEX_HASH, 0, true},
                    Case{"metadata_16_KiB", LUNAR_MODE_METADATA, 16384, 0, LUNAR_INDEX_HASH, 0, true},
                    Case{"disorder_128_KiB_of_log", LUNAR_MODE_DISORDER, 32768, 1 << 17, LUNAR_INDEX_TREE, 0, true}),
    [](const auto& of) { return of.param.name; });

TEST(PowerCutsMutant, a_device_that_ignores_flushes_is_caught) {
  const Outcome outcome = lives({.device_ignores_sync = true}, seed_told(), 200);
  EXPECT_GT(outcome.not_mounted + outcome.not_permitted, 0U);
}

}  // namespace
}  // namespace lunar_test
