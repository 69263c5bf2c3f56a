#include "stall.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

constexpr eco::LevelZero level_zero{.files = 10, .files_s = 2, .slowdown = 20, .stop = 36, .delayed = 0.5};

TEST(LevelZero, grows_with_the_input) {  // Equation 1
  EXPECT_EQ(level_zero.files_after(0), 10);
  EXPECT_EQ(level_zero.files_after(4), 18);
}

TEST(LevelZero, stalls_when_it_reaches_the_threshold) {  // Equation 2
  EXPECT_FALSE(level_zero.stalls_within(12.99));
  EXPECT_TRUE(level_zero.stalls_within(13));
  EXPECT_EQ(level_zero.until_stall_s(), 13);
}

TEST(LevelZero, stalls_at_the_slowdown_when_that_is_the_threshold) {
  auto early = level_zero;
  early.stall = early.slowdown;
  EXPECT_EQ(early.until_stall_s(), 5);
  EXPECT_FALSE(early.stalls_within(4.99));
  EXPECT_TRUE(early.stalls_within(5));
}

TEST(LevelZero, is_stalled_when_it_is_full) {
  const eco::LevelZero full{.files = 36, .files_s = 0, .slowdown = 20, .stop = 36};
  EXPECT_TRUE(full.stalls_within(0));
  EXPECT_EQ(full.until_stall_s(), 0);
  EXPECT_EQ(full.lost_within(3), 3);
}

TEST(LevelZero, never_stalls_without_input) {
  const eco::LevelZero still{.files = 35, .files_s = 0, .slowdown = 20, .stop = 36};
  EXPECT_FALSE(still.stalls_within(1e9));
  EXPECT_TRUE(std::isinf(still.until_stall_s()));
  EXPECT_EQ(still.lost_within(100), 0);
}

TEST(LevelZero, loses_nothing_before_the_slowdown) { EXPECT_EQ(level_zero.lost_within(5), 0); }

TEST(LevelZero, loses_the_delayed_part_and_grows_slower_until_the_stop) {
  EXPECT_EQ(level_zero.lost_within(7), 1);
  EXPECT_EQ(level_zero.lost_within(21), 8);  // 16 files at 1 a second
}

TEST(LevelZero, loses_everything_after_the_stop) { EXPECT_EQ(level_zero.lost_within(24), 8 + 3); }

TEST(LevelZero, is_behind_by_the_files_beyond_the_trigger) {
  eco::LevelZero late{.files = 4, .slowdown = 20, .stop = 36, .trigger = 4};
  EXPECT_EQ(late.behind(), 0);
  late.files = 6;
  EXPECT_EQ(late.behind(), 0.5);
  late.files = 12;
  EXPECT_EQ(late.behind(), 1);
  late.trigger = 0, late.files = 6;
  EXPECT_EQ(late.behind(), 0.5);
}

TEST(LevelZero, never_stops_what_its_delay_stops) {
  auto delayed = level_zero;
  delayed.delayed = 1;
  EXPECT_EQ(delayed.lost_within(105), 100);
}

}  // namespace
