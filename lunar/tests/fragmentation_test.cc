// After many tables were created and dropped, new ones still have few fragments.
#include "../bench/fragmentation.h"

#include <gtest/gtest.h>

#include "values.h"

namespace {

TEST(Fragmentation, of_a_half_full_volume_is_small_after_five_times_its_size_was_written) {
  lunar_bench::Aging aging;
  aging.volume_bytes = std::uint64_t{48} << 20, aging.written_bytes = 5 * aging.volume_bytes, aging.full = 0.45;
  const auto aged = lunar_bench::age(aging);
  EXPECT_GT(aged["layout_score_4k"], 0.94) << aged;
  EXPECT_LT(aged["wasted_share"], 0.2) << aged;
}

TEST(Fragmentation, of_a_volume_two_thirds_full_stays_small) {
  lunar_bench::Aging aging;
  aging.volume_bytes = std::uint64_t{32} << 20, aging.written_bytes = 5 * aging.volume_bytes, aging.full = 0.66;
  for (aging.seed = 1; aging.seed <= 3 / lunar_test::one_in(3); ++aging.seed) {
    const auto aged = lunar_bench::age(aging);
    EXPECT_GT(aged["layout_score_4k"], 0.925) << aged;
    EXPECT_EQ(aged["times_full"], 0) << aged;
  }
}

}  // namespace
