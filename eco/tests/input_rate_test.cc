#include "input_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace {

TEST(InputRate, is_unknown_until_two_observations) {
  eco::InputRate rate;
  EXPECT_FALSE(rate.known());
  rate.observe(1, 100);
  EXPECT_FALSE(rate.known());
  rate.observe(2, 300);
  EXPECT_TRUE(rate.known());
  EXPECT_EQ(rate.bytes_s(), 200);
}

// Fig. 11: it converges in 3 to 5 s.
TEST(InputRate, is_within_4_percent_five_seconds_after_a_step) {
  eco::InputRate rate;
  std::uint64_t bytes = 0;
  int t = 0;
  for (; t < 20; ++t) rate.observe(t, bytes), bytes += 1000;
  const double before = rate.bytes_s();
  bytes += 1000;  // the last second of the old rate is 2000
  for (const int last = t + 5; t < last; ++t) rate.observe(t, bytes), bytes += 2000;
  EXPECT_EQ(before, 1000);
  EXPECT_NEAR(rate.bytes_s(), 2000, 80);
}

TEST(InputRate, does_not_depend_on_how_often_it_looks) {
  eco::InputRate each_second, each_tenth;
  std::uint64_t bytes = 0;
  for (int i = 0; i <= 100; ++i) {
    if (i % 10 == 0) each_second.observe(0.1 * i, bytes);
    each_tenth.observe(0.1 * i, bytes);
    bytes += i < 50 ? 100 : 300;
  }
  EXPECT_NEAR(each_tenth.bytes_s(), each_second.bytes_s(), 150);
}

TEST(InputRate, begins_again_when_the_count_falls) {
  eco::InputRate rate;
  rate.observe(0, 1000), rate.observe(1, 2000);
  rate.observe(2, 10);  // the database was reopened
  EXPECT_EQ(rate.bytes_s(), 1000);
  rate.observe(3, 1010);
  EXPECT_EQ(rate.bytes_s(), 1000);
}

TEST(InputRate, ignores_a_clock_that_stands_still) {
  eco::InputRate rate;
  rate.observe(0, 0), rate.observe(1, 500);
  rate.observe(1, 900);
  EXPECT_EQ(rate.bytes_s(), 500);
  rate.observe(2, 1000);
  EXPECT_EQ(rate.bytes_s(), 500);
}

TEST(InputRate, smooths_bursts) {
  eco::InputRate rate;
  std::uint64_t bytes = 0;
  for (int t = 0; t < 30; ++t) {
    rate.observe(t, bytes);
    bytes += t % 2 == 0 ? 1000 : 3000;
    ASSERT_NEAR(rate.bytes_s(), 2000, t > 10 ? 500 : 2000) << t;
  }
}

// The paper's bar, on input as in its Fig. 11: steps each 60 s, some noise.
TEST(InputRate, errs_by_at_most_3_6_percent_on_steps) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::mt19937_64 random(seed);
    eco::InputRate rate;
    double level = 50e6, total = 0, error = 0;
    int seconds = 0;
    for (int t = 0; t < 600; ++t) {
      rate.observe(t, static_cast<std::uint64_t>(total));
      if (t % 60 == 0) level = std::uniform_real_distribution<double>(30e6, 80e6)(random);
      const double input = level * (1 + std::normal_distribution<double>(0, 0.01)(random));
      if (t >= 20) error += std::abs(rate.bytes_s() / input - 1), ++seconds;
      total += input;
    }
    EXPECT_LE(error / seconds, 0.036) << "seed " << seed;
  }
}

}  // namespace
