#include "scheduler.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "states.h"

namespace {

using eco::Scheduler, eco::Tracker, eco::test::request_of, eco::test::state_of;

struct Table {
  Scheduler scheduler{{.alive_s = 3, .placed_s = 5}};
  eco::Policy policy = *eco::policy_named("eco");

  Table() {
    hear(state_of("home", 4, 8), 0);
    hear(state_of("medium", 2, 10), 0);
    hear(state_of("high", 1, 16), 0);
  }
  void hear(const eco::proto::ServerState& state, double now_s) {
    scheduler.with_tracker([&](Tracker& tracker) { tracker.heard(state, now_s); });
  }
  eco::proto::Placement place(double now_s, const std::string& job = "job", bool shadow = false) {
    eco::proto::LoggedDecision log;
    return scheduler.place(request_of("home", job), policy, shadow, now_s, 3, log);
  }
};

TEST(Scheduler, places_where_the_policy_says_with_a_token_of_its_own) {
  Table table;
  const auto first = table.place(1, "a"), second = table.place(1, "b");
  EXPECT_EQ(first.server(), "medium");
  EXPECT_EQ(first.address(), "127.0.0.1:1");
  EXPECT_EQ(first.token().size(), 32U);
  EXPECT_NE(first.token(), second.token());
}

TEST(Scheduler, places_no_job_at_a_server_that_its_home_avoids) {
  Table table;
  eco::proto::LoggedDecision log;
  auto request = request_of("home");
  request.add_avoid("medium");
  EXPECT_EQ(table.scheduler.place(request, table.policy, false, 1, 3, log).server(), "high");
  request.add_avoid("high");
  EXPECT_FALSE(table.scheduler.place(request, table.policy, false, 1, 3, log).offload());
}

TEST(Scheduler, counts_what_it_just_placed_until_telemetry_shows_it) {
  Table table;
  const auto a = table.place(1, "a"), b = table.place(1, "b");
  EXPECT_EQ(a.server(), "medium");
  EXPECT_EQ(b.server(), "medium");
  EXPECT_EQ(table.place(1, "c").server(), "high") << "medium has two slots";

  auto shown = state_of("medium", 2, 10, 2);  // both run there
  shown.set_jobs(2);
  shown.add_tokens(a.token());
  shown.add_tokens(b.token());
  table.hear(shown, 1.5);
  EXPECT_EQ(table.place(1.6, "d").server(), "high") << "they are not counted twice, but they are there";
  auto ended = state_of("medium", 2, 10, 3);
  ended.add_tokens(a.token());
  table.hear(ended, 2);
  EXPECT_EQ(table.place(2.1, "e").server(), "medium");
}

TEST(Scheduler, forgets_a_placement_that_ended_or_never_began) {
  Table table;
  (void)table.place(1, "a"), (void)table.place(1, "b");
  table.scheduler.with_tracker([](Tracker& tracker) { tracker.ended("a"); });
  EXPECT_EQ(table.place(1, "c").server(), "medium");
  for (const char* name : {"home", "medium", "high"})
    table.hear(state_of(name, name[0] == 'm' ? 2 : name[1] == 'i' ? 1 : 4, 10, 2), 6.5);
  EXPECT_EQ(table.place(6.9, "d").server(), "medium") << "nothing of them was heard for placed_s";
}

TEST(Scheduler, a_job_that_ended_makes_room_before_telemetry_shows_it) {
  Table table;
  const auto a = table.place(1, "a"), b = table.place(1, "b");
  auto shown = state_of("medium", 2, 10, 2);
  shown.set_jobs(2), shown.set_busy_cores(3.5);
  shown.add_tokens(a.token()), shown.add_tokens(b.token());
  table.hear(shown, 1.5);
  EXPECT_EQ(table.place(1.6, "c").server(), "high") << "its slots are taken";
  const auto ended = [&](const char* job) {
    table.scheduler.with_tracker([&](Tracker& tracker) { tracker.ended(job); });
  };
  ended("a");
  EXPECT_EQ(table.place(1.7, "d").server(), "medium");
  EXPECT_EQ(table.place(1.7, "e").server(), "high") << "d is there now";
  ended("a"), ended("somebody else's");
  EXPECT_NE(table.place(1.8, "f").server(), "medium") << "a job ends once";
  auto next = state_of("medium", 2, 10, 3);
  next.set_jobs(2);
  table.hear(next, 2);
  EXPECT_NE(table.place(2.1, "g").server(), "medium") << "what a beat shows is newer";
}

TEST(Scheduler, a_server_that_stopped_to_count_up_is_not_alive) {
  Table table;
  for (double now_s = 1; now_s < 10; ++now_s) {
    table.hear(state_of("home", 4, 8, static_cast<std::uint64_t>(now_s) + 1), now_s);
    table.hear(state_of("medium", 2, 10, 1), now_s);  // the same beat repeatedly
    table.hear(state_of("high", 1, 16, static_cast<std::uint64_t>(now_s) + 1), now_s);
  }
  EXPECT_EQ(table.place(9.5).server(), "high");
}

TEST(Scheduler, a_drained_or_departed_server_gets_nothing) {
  Table table;
  table.scheduler.with_tracker([](Tracker& tracker) { tracker.drain({"medium"}); });
  EXPECT_EQ(table.place(1, "a").server(), "high");
  table.scheduler.with_tracker([](Tracker& tracker) { tracker.left("high", 1); });
  EXPECT_FALSE(table.place(1, "b").offload());
  table.scheduler.with_tracker([](Tracker& tracker) { tracker.drain({}); });
  EXPECT_EQ(table.place(1, "c").server(), "medium");
}

TEST(Tracker, forgets_a_server_that_was_not_heard_of_for_long_and_keeps_the_others_apart) {
  Tracker tracker(5, 100);
  for (const char* name : {"a", "b", "c"}) tracker.heard(state_of(name, 1, 1), 0);
  tracker.heard(state_of("c", 1, 1, 2), 60);
  tracker.heard(state_of("a", 1, 1, 2), 60);
  EXPECT_EQ(tracker.servers(99, 3).size(), 3U);
  ASSERT_EQ(tracker.servers(101, 50).size(), 2U);
  EXPECT_FALSE(tracker.find("b"));
  for (const char* name : {"a", "c"}) EXPECT_EQ(tracker.servers(101, 50)[*tracker.find(name)].name, name);
  tracker.heard(state_of("b", 1, 1, 3), 102);
  EXPECT_EQ(tracker.servers(102, 3)[*tracker.find("b")].alive, true);
  EXPECT_EQ(tracker.lines(102).size(), 3U);
}

TEST(Scheduler, a_server_whose_load_is_not_known_takes_no_jobs) {
  Table table;
  auto blind = state_of("medium", 2, 10, 2);
  blind.clear_busy_cores();
  table.hear(blind, 0.5);
  EXPECT_EQ(table.place(1).server(), "high");
  auto no_link = state_of("high", 1, 16, 2);
  no_link.clear_link_bytes_s();
  table.hear(no_link, 0.5);
  EXPECT_FALSE(table.place(1).offload());
}

TEST(Scheduler, in_shadow_mode_nothing_counts_as_placed) {
  Table table;
  for (int i = 0; i < 5; ++i) {
    const auto placement = table.place(1, std::to_string(i), true);
    EXPECT_EQ(placement.server(), "medium");
    EXPECT_TRUE(placement.shadow());
  }
}

TEST(Scheduler, of_many_askers_at_once_no_more_are_placed_than_there_are_slots) {
  Table table;
  std::vector<std::string> placed(16);
  {
    std::vector<std::jthread> askers;
    for (std::size_t i = 0; i < placed.size(); ++i)
      askers.emplace_back([&, i] { placed[i] = table.place(1, std::to_string(i)).server(); });
  }
  EXPECT_EQ(std::ranges::count(placed, "medium"), 2);
  EXPECT_EQ(std::ranges::count(placed, "high"), 2);
  EXPECT_EQ(std::ranges::count(placed, ""), 12);
}

TEST(Scheduler, an_unknown_home_compacts_itself) {
  Table table;
  eco::proto::LoggedDecision log;
  const auto placement = table.scheduler.place(request_of("stranger"), table.policy, false, 1, 3, log);
  EXPECT_FALSE(placement.offload());
  EXPECT_EQ(placement.reason(), "stranger is not in the server table");
}

TEST(Scheduler, logs_the_home_first_then_the_choice) {
  Table table;
  eco::proto::LoggedDecision log;
  (void)table.scheduler.place(request_of("home"), table.policy, false, 1, 3, log);
  ASSERT_EQ(log.options_size(), 3);
  EXPECT_EQ(log.options(0).server(), "home");
  EXPECT_TRUE(log.options(0).stalls());
  EXPECT_EQ(log.options(1).server(), "medium");
  EXPECT_NEAR(log.options(1).time_s(), 2.1, 0.2);
}

}  // namespace
