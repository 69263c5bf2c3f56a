// The operations of a schedule are due when the cumulative rate reaches their number.
#include "run/rate_schedule.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <numbers>

#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

constexpr double ns = 1e-9;

double due_s(const RateSchedule& schedule, std::uint64_t number) {
  return static_cast<double>(schedule.due_ns(number)) * ns;
}

// Operations due in [from, to), counted one by one.
std::uint64_t due_between(const RateSchedule& schedule, double from_s, double to_s) {
  std::uint64_t count = 0;
  for (std::uint64_t number = 0;; ++number) {
    const auto due = due_s(schedule, number);
    if (due >= to_s) return count;
    count += due >= from_s ? 1 : 0;
  }
}

TEST(RateSchedule, a_constant_rate_has_equal_gaps) {
  const auto schedule = RateSchedule::parse("2000");
  EXPECT_EQ(schedule.due_ns(0), 0U);
  EXPECT_NEAR(due_s(schedule, 1), 0.0005, ns);
  EXPECT_NEAR(due_s(schedule, 20'000'000'001), 10'000'000.0005, 1e-6);
  EXPECT_EQ(schedule.mean_ops_s(), 2000);
}

TEST(RateSchedule, steps_follow_each_other_and_begin_again) {
  const auto schedule = RateSchedule::parse("steps:100@1,0@2,400@0.5");
  EXPECT_EQ(due_between(schedule, 0, 1), 100U);
  EXPECT_EQ(due_between(schedule, 1, 3 - ns), 0U);
  EXPECT_EQ(due_between(schedule, 3 - ns, 3.5), 200U);
  EXPECT_EQ(due_between(schedule, 3.5, 4.5), 100U);
  EXPECT_NEAR(schedule.mean_ops_s(), 300 / 3.5, 1e-9);
}

// 340 rounds of 0.55 operations are a little more than 187 in floating point.
TEST(RateSchedule, a_round_that_ends_by_rounding_begins_with_the_first_step_with_operations) {
  EXPECT_NEAR(static_cast<double>(RateSchedule::parse("steps:0@1,0.5@1.1").due_ns(187)) * 1e-9, 715, 1e-6);
}

TEST(RateSchedule, a_sine_is_the_inverse_of_its_integral) {
  const auto schedule = RateSchedule::parse("sine:mean=1000,amplitude=900,period=4,phase=0.5");
  constexpr double omega = 2 * std::numbers::pi / 4;
  for (const std::uint64_t number : {0U, 1U, 999U, 2000U, 3999U, 4000U, 123'456U}) {
    const auto t = due_s(schedule, number);
    const auto operations = 1000 * t + 900 / omega * (std::cos(0.5) - std::cos(omega * t + 0.5));
    EXPECT_NEAR(operations, static_cast<double>(number), 1e-3) << number;
  }
  EXPECT_GT(due_between(schedule, 0, 1), 2 * due_between(schedule, 2, 3));
}

TEST(RateSchedule, due_times_never_go_back) {
  for (const auto* text : {"777", "steps:3@0.1,0@0.1,1000@0.05", "sine:mean=10,amplitude=10,period=0.3"}) {
    const auto schedule = RateSchedule::parse(text);
    std::uint64_t last = 0;
    for (std::uint64_t number = 0; number < 5000; ++number) {
      const auto due = schedule.due_ns(number);
      EXPECT_GE(due, last) << text << ", operation " << number;
      last = due;
    }
  }
}

double duration_s(const RateSchedule& schedule, std::uint64_t operations) {
  return static_cast<double>(schedule.duration_ns(operations)) * ns;
}

TEST(RateSchedule, its_duration_leaves_out_the_pause_behind_the_last_operation) {
  struct Case {
    const char* text;
    std::uint64_t operations;
    double duration_s;
  };
  for (const auto& [text, operations, expected_s] : {
           Case{"steps:200000@1,0@9", 200'000, 1}, Case{"steps:200000@1,0@9", 200'001, 10.000005},
           Case{"steps:1000@1,0@1", 2000, 3}, Case{"steps:0@1,1000@1", 2000, 4}, Case{"steps:0@1,1000@1", 1000, 2},
           Case{"steps:100@1,0@1,0@3,50@1,0@2", 100, 1},
           Case{"steps:100@1,0@1,0@3,50@1,0@2", 150, 6},  // two adjacent pauses
           Case{"steps:1000.5@1,0@1", 1001, 1},           // half an operation is left for the next round
           Case{"steps:0.5@1,0@1", 1, 1},                 // less than one operation in a step
           Case{"steps:100@1,400@1", 100, 1},             // edges between rates
           Case{"steps:100@1,0.001@1000", 100, 1},        //
           Case{"steps:1@1,1000@1", 1, 1},                //
           Case{"800", 4000, 5},                          //
           Case{"steps:1000@1,0@1", 0, 0},                //
       }) {
    EXPECT_NEAR(duration_s(RateSchedule::parse(text), operations), expected_s, 1e-6) << text << ", " << operations;
  }
}

TEST(RateSchedule, its_duration_lies_between_the_last_operation_and_the_next) {
  for (const auto* text : {"777", "steps:3@0.1,0@0.1,1000@0.05", "steps:0@0.3,7.7@0.3,0.1@1,9@0.7",
                           "steps:1@1,2@1,3@1,4@1,5@1,0@5", "sine:mean=10,amplitude=10,period=0.3"}) {
    const auto schedule = RateSchedule::parse(text);
    for (std::uint64_t operations = 1; operations < 5000; ++operations) {
      EXPECT_GE(schedule.duration_ns(operations), schedule.due_ns(operations - 1)) << text << ", " << operations;
      EXPECT_LE(schedule.duration_ns(operations), schedule.due_ns(operations)) << text << ", " << operations;
    }
  }
}

TEST(RateSchedule, operations_until_a_time_are_those_due_until_then) {
  for (const auto* text : {"777", "steps:3@0.1,0@0.1,1000@0.05", "steps:0@1,1000@1,0@2,10@1",
                           "sine:mean=1000,amplitude=900,period=4,phase=0.5"}) {
    const auto schedule = RateSchedule::parse(text);
    for (std::uint64_t number = 1; number < 5000; number += 7) {
      EXPECT_NEAR(schedule.operations_until(schedule.due_ns(number)), static_cast<double>(number), 1e-3) << text;
    }
  }
  EXPECT_NEAR(RateSchedule::parse("steps:0@1,1000@1,0@2").operations_until(3'500'000'000), 1000, 1e-6);
}

class RecordedRate : public testing::Test {
 protected:
  ~RecordedRate() override { std::remove(path_.c_str()); }

  std::string recorded(const std::string& lines) {
    std::ofstream(path_) << lines;
    return "file:" + path_;
  }

  // Unique, because tests run in parallel.
  const std::string path_ = testing::TempDir() + "rates-" + std::to_string(::getpid()) + ".csv";
};

TEST_F(RecordedRate, a_rate_lasts_until_the_next_time) {
  const auto schedule = RateSchedule::parse(recorded("time_s,ops_s\n10,100\n12,300\n13,50\n"));
  EXPECT_EQ(due_between(schedule, 0, 2), 200U);
  EXPECT_EQ(due_between(schedule, 2, 3), 300U);
  EXPECT_EQ(due_between(schedule, 3, 4), 50U);
  EXPECT_EQ(due_between(schedule, 4, 6), 200U);
}

TEST_F(RecordedRate, its_duration_leaves_out_a_recorded_pause) {
  const auto schedule = RateSchedule::parse(recorded("0,100\n1,0\n3,100.5\n4,0\n"));
  EXPECT_NEAR(duration_s(schedule, 100), 1, ns);
  EXPECT_NEAR(duration_s(schedule, 200), 3 + 100 / 100.5, 1e-6);
  EXPECT_NEAR(duration_s(schedule, 201), 4, 1e-6);
}

TEST_F(RecordedRate, what_cannot_be_followed_is_refused_with_its_line) {
  for (const auto* lines : {"", "0,1\n", "0,1\n0,2\n", "0,1\n1\n", "0,1\n1,x\n", "0,0\n1,0\n", "0,-1\n1,2\n"}) {
    EXPECT_THROW(static_cast<void>(RateSchedule::parse(recorded(lines))), UsageError) << lines;
  }
  try {
    static_cast<void>(RateSchedule::parse(recorded("0,1\n1,2\n2;3\n")));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos) << error.what();
  }
}

TEST(RateSchedule, what_cannot_be_followed_is_refused) {
  for (const auto* text : {"", "fast", "0", "-5", "steps:", "steps:100", "steps:100@0", "steps:0@5", "steps:-1@5,9@1",
                           "sine:mean=10", "sine:mean=10,amplitude=11,period=5", "sine:mean=10,amplitude=1,period=0",
                           "sine:mean=10,amplitude=1,period=5,frequency=2", "file:/no/such/file", "nan", "inf"}) {
    EXPECT_THROW(static_cast<void>(RateSchedule::parse(text)), UsageError) << text;
  }
}

}  // namespace
}  // namespace edgejoule::driver
