// lunar_check finds nothing after random lives, and each damage that is made by hand.
#include <gtest/gtest.h>

#include <cstdlib>

#include "world.h"

namespace lunar_test {
namespace {

std::uint64_t seed_told() {
  const char* told = std::getenv("LUNAR_SEED");
  return told != nullptr ? std::strtoull(told, nullptr, 10) : 1;
}

struct Life {
  const char* name;
  Options options;
  int steps;
};

class Check : public testing::TestWithParam<Life> {};

TEST_P(Check, finds_nothing_after_a_random_life) {
  const Life& life = GetParam();
  for (auto seed = seed_told(); seed < seed_told() + 3; ++seed) {
    World world(life.options, seed);
    for (int i = 0; i < life.steps; ++i) {
      ASSERT_EQ(world.random(12) == 0 ? world.sync() : world.step(), 0) << "seed " << seed << " step " << i;
      if (i % 16 != 0) continue;
      lunar_findings found{};
      ASSERT_EQ(lunar_check(&world.db, &found), 0) << "seed " << seed << " step " << i << ": " << found.text
                                                   << ", table " << found.table << ", sector " << found.sector;
      EXPECT_EQ(found.rows, world.now.size() - world.now.count(other_table));
      EXPECT_EQ(found.index_entries, found.rows);
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
        Life{"full_64_KiB", {.mode = LUNAR_MODE_FULL, .sectors = 4096, .buffer_bytes = 65536, .keys = 300}, 2000},
        Life{"data_64_KiB", {.mode = LUNAR_MODE_DATA, .sectors = 4096, .buffer_bytes = 65536, .keys = 300}, 2000},
        Life{"full_small_rows", {.mode = LUNAR_MODE_FULL, .sectors = 2048, .keys = 500, .text_bytes_max = 80}, 3000},
        Life{"data_full_device", {.mode = LUNAR_MODE_DATA, .sectors = 256, .keys = 200}, 2000},
        Life{"full_large_sectors",
             {.mode = LUNAR_MODE_FULL,
              .sectors = 1024,
              .sector_bytes = 4096,
              .buffer_bytes = LUNAR_BUFFER_BYTES_MIN(4096),
              .keys = 300,
              .text_bytes_max = 9000},
             2000}),
    [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace lunar_test
