// Deadlines do not move, however late a reading is.
#include "schedule.h"

#include <gtest/gtest.h>

namespace edgejoule::sampler {
namespace {

TEST(Schedule, a_late_row_does_not_shift_the_next_deadline) {
  Schedule schedule(1000, 100);
  EXPECT_EQ(schedule.advance(1099), 0U);
  EXPECT_EQ(schedule.next_ns(), 1100);
}

TEST(Schedule, deadlines_that_have_passed_are_skipped_and_counted) {
  Schedule schedule(1000, 100);
  EXPECT_EQ(schedule.advance(1350), 3U);  // 1100, 1200 and 1300 were missed
  EXPECT_EQ(schedule.next_ns(), 1400);
}

TEST(ScheduleDeathTest, an_interval_of_0_ends_the_process) {
  EXPECT_DEATH(Schedule(1000, 0), "assertion failed: interval_ns > 0");
}

TEST(Schedule, a_deadline_that_is_just_now_counts_as_passed) {
  Schedule schedule(1000, 100);
  EXPECT_EQ(schedule.advance(1100), 1U);
  EXPECT_EQ(schedule.next_ns(), 1200);
}

}  // namespace
}  // namespace edgejoule::sampler
