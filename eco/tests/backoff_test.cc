#include "backoff.h"

#include <gtest/gtest.h>

namespace {

using eco::Backoff;

// Sends jobs one after another to workers that waste `wasted_s` on each.
struct Tries {
  int count = 0;
  double waited_s = 0;
};
Tries tries_of(Backoff& backoff, const std::vector<std::string>& workers, double wasted_s, double until_s) {
  Tries tries;
  for (double now_s = 0; now_s < until_s; now_s += 0.25) {  // a local compaction
    if (backoff.all_left_s(now_s) > 0) continue;
    for (const auto& worker : workers) {
      if (backoff.left_s(worker, now_s) > 0) continue;
      backoff.began(worker, now_s);
      now_s += wasted_s;
      backoff.failed(worker, wasted_s, now_s);
      ++tries.count, tries.waited_s += wasted_s;
      break;
    }
  }
  return tries;
}

TEST(Backoff, lets_a_worker_that_never_answers_cost_a_twentieth_of_the_time_at_most) {
  for (const double wasted_s : {0.01, 1.0, 3.0, 10.0, 60.0})
    for (const double until_s : {60.0, 600.0, 3600.0}) {
      Backoff backoff;
      const Tries tries = tries_of(backoff, {"dead"}, wasted_s, until_s);
      EXPECT_LE(tries.waited_s, wasted_s + 0.05 * until_s) << wasted_s << " s in " << until_s << " s";
    }
}

TEST(Backoff, tries_a_worker_that_keeps_each_job_for_a_second_seven_times_in_ten_minutes) {
  Backoff backoff;  // after 0, 20, 60 and 140 s, then every two minutes
  const Tries tries = tries_of(backoff, {"dead"}, 1, 600);
  EXPECT_EQ(tries.count, 7);
  EXPECT_DOUBLE_EQ(tries.waited_s, 7);
}

TEST(Backoff, lets_many_workers_behind_a_dead_network_cost_little_more_than_one) {
  Backoff backoff;
  const Tries tries = tries_of(backoff, {"a", "b", "c", "d", "e", "f", "g", "h"}, 1, 600);
  EXPECT_LE(tries.waited_s, 2 + 0.05 * 600);
}

TEST(Backoff, takes_jobs_that_fail_together_for_one_failure) {
  Backoff backoff;
  for (int job = 0; job < 4; ++job) backoff.failed("dead", 1, 101 + 0.1 * job);
  EXPECT_EQ(backoff.failures("dead"), 1);
  EXPECT_NEAR(backoff.left_s("dead", 101), 20, 1e-9);
}

TEST(Backoff, lets_one_job_try_after_the_pause_and_keeps_others_away_until_it_has_ended) {
  Backoff backoff;
  backoff.failed("dead", 1, 100);
  EXPECT_GT(backoff.left_s("dead", 119.9), 0);
  EXPECT_EQ(backoff.left_s("dead", 120.1), 0);
  backoff.began("dead", 120.1);
  EXPECT_GT(backoff.left_s("dead", 120.2), 0);
  backoff.succeeded("dead");
  EXPECT_EQ(backoff.left_s("dead", 120.3), 0);
  EXPECT_EQ(backoff.failures("dead"), 0);
}

TEST(Backoff, leaves_all_alone_only_where_several_failed_and_none_succeeded) {
  Backoff backoff;
  backoff.failed("a", 1, 100);
  backoff.succeeded("c");
  backoff.failed("b", 1, 102);
  EXPECT_EQ(backoff.all_left_s(102), 0);
  EXPECT_EQ(backoff.avoided(102), (std::vector<std::string>{"a", "b"}));
  backoff.failed("d", 1, 104);
  EXPECT_NEAR(backoff.all_left_s(104), 20, 1e-9);
  backoff.succeeded("c");
  EXPECT_EQ(backoff.all_left_s(104), 0);
}

}  // namespace
