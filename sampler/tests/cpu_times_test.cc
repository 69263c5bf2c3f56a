// Parses /proc/stat of old and new kernels, and rejects other text.
#include "cpu_times.h"

#include <gtest/gtest.h>

#include <string>

namespace edgejoule::sampler {
namespace {

TEST(CpuTimes, adds_idle_iowait_and_steal_of_the_first_line_and_counts_the_lines_of_cpus) {
  const auto times = cpu_times(
      "cpu  2255 34 2290 22625563 6290 127 456 13 9 1\n"
      "cpu0 1132 34 1441 11311718 3675 127 438 6 5 1\n"
      "cpu1 1123 0 849 11313845 2614 0 18 7 4 0\n"
      "intr 114930548 113199788 3 0 5 263 0 4\n"
      "ctxt 1990473\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->cpus, 2);
  EXPECT_EQ(times->idle_ticks, 22625563 + 6290 + 13);
}

TEST(CpuTimes, counts_only_cpus_that_are_online) {
  const auto times =
      cpu_times("cpu  1 2 3 400 50 6 7 8 0 0\ncpu0 1 2 3 400 50 6 7 8 0 0\ncpu3 0 0 0 0 0 0 0 0 0 0\nintr 1\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->cpus, 2);
}

TEST(CpuTimes, reads_kernels_without_steal) {
  const auto times = cpu_times("cpu  1 2 3 400 50 6 7\ncpu0 1 2 3 400 50 6 7\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->idle_ticks, 450);
}

TEST(CpuTimes, refuses_all_else) {
  for (const char* text :
       {"", "\n", "intr 5\n", "cpu  1 2\ncpu0 1 2\n", "cpu  1 2 3 x 5 6\ncpu0 1\n", "cpu  1 2 3 4 x 6\ncpu0 1\n",
        "cpu  1 2 3 4 5 6 7 x\ncpu0 1\n", "cpu  1 2 3 4 5 6 7 8\nintr 1\n", "cpu9 1 2 3 4 5 6 7 8\ncpu0 1\n"}) {
    EXPECT_FALSE(cpu_times(text)) << text;
  }
}

}  // namespace
}  // namespace edgejoule::sampler
