#include "run/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "run/histogram_codec.h"
#include "system/random.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t seed = 3;

std::vector<std::uint64_t> latencies() {
  Random random(seed);
  std::vector<std::uint64_t> values(50'000);
  for (auto& value : values) value = random.next() >> (22 + random.below(42));  // up to 2^42, beyond one hour
  return values;
}

TEST(Histogram, every_value_keeps_three_digits) {
  for (const auto value : latencies()) {
    if (value > Histogram::value_max) continue;
    const auto index = Histogram::index_of(value);
    ASSERT_LT(index, Histogram::counters);
    const auto highest = Histogram::highest_value_of(index);
    ASSERT_GE(highest, value) << "seed " << seed;
    ASSERT_LE(highest - value, value / 1000) << "seed " << seed;
    ASSERT_EQ(Histogram::index_of(highest), index);
    ASSERT_EQ(Histogram::index_of(highest + 1), index + 1);
  }
}

TEST(Histogram, percentiles_are_those_of_the_sorted_values) {
  Histogram histogram;
  auto values = latencies();
  for (auto& value : values) {
    value = std::min(value, Histogram::value_max);
    histogram.record(value);
  }
  std::ranges::sort(values);
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const auto rank = std::max<std::size_t>(1, static_cast<std::size_t>(percent / 100 * 50'000 + 0.5));
    const auto alike_most = Histogram::highest_value_of(Histogram::index_of(values[rank - 1]));
    EXPECT_EQ(histogram.percentile(percent), std::min(alike_most, values.back())) << percent << " %, seed " << seed;
  }
  EXPECT_EQ(histogram.min(), values.front());
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(Histogram, no_percentile_exceeds_the_maximum) {
  Histogram histogram;
  constexpr std::uint64_t latency_ns = 1'000'003;  // below the largest equivalent value
  histogram.record(latency_ns);
  for (const double percent : {50.0, 99.9, 100.0}) EXPECT_EQ(histogram.percentile(percent), latency_ns);
}

TEST(Histogram, two_added_are_one_that_saw_both) {
  Histogram first;
  Histogram second;
  Histogram both;
  bool turn = false;
  for (const auto value : latencies()) {
    ((turn = !turn) ? first : second).record(value);
    both.record(value);
  }
  first.add(second);
  EXPECT_EQ(encode(first), encode(both));
  EXPECT_EQ(first.count(), both.count());
  EXPECT_EQ(first.mean(), both.mean());
}

TEST(Histogram, an_empty_one_says_zero_and_can_be_encoded) {
  const Histogram empty;
  EXPECT_EQ(empty.percentile(50), 0U);
  EXPECT_EQ(empty.min(), 0U);
  EXPECT_EQ(empty.mean(), 0);
  EXPECT_FALSE(encode(empty).empty());
}

TEST(Histogram, what_exceeds_the_range_counts_as_its_end) {
  Histogram histogram;
  histogram.record(~std::uint64_t{0});
  EXPECT_EQ(histogram.max(), Histogram::value_max);
  EXPECT_EQ(histogram.count(), 1U);
}

}  // namespace
}  // namespace edgejoule::driver
