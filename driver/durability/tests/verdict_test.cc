#include "durability/verdict.h"

#include <gtest/gtest.h>

namespace edgejoule::driver {
namespace {

using Kind = CutOutcome::Kind;

CutOutcome outcome(std::uint64_t lost, Kind kind = Kind::judged) {
  CutOutcome outcome{{lost, 0, Survival::none, 0, 0}, kind, "", {}};
  outcome.judgement.rows_checked = 100;
  outcome.judgement.rows_lost = lost;
  if (lost > 0) outcome.judgement.oldest_lost_operations = lost + 1;
  if (lost > 0) outcome.judgement.oldest_lost_ms = static_cast<double>(lost) / 2;
  outcome.judgement.earlier_state = true;
  return outcome;
}

bool kept(Durability promise, const std::vector<CutOutcome>& outcomes) {
  return verdict_on(promise, summary_of(outcomes)).kept;
}

TEST(Verdict, sums_up_what_the_cuts_lost) {
  const auto summary = summary_of(std::vector{outcome(0), outcome(3), outcome(7), outcome(0)});
  EXPECT_EQ(summary.cuts, 4);
  EXPECT_EQ(summary.rows_checked, 400);
  EXPECT_EQ(summary.rows_lost, 10);
  EXPECT_EQ(summary.rows_lost_max, 7);
  EXPECT_EQ(summary.cuts_with_loss, 2);
  EXPECT_EQ(summary.oldest_lost_operations, 8);
  EXPECT_EQ(summary.oldest_lost_ms, 3.5);
  EXPECT_EQ(summary.worst.value().cut.number, 7);
}

TEST(Verdict, holds_one_lost_row_against_class_power_alone) {
  const std::vector one_lost = {outcome(0), outcome(1)};
  EXPECT_FALSE(kept(Durability::power, one_lost));
  EXPECT_TRUE(kept(Durability::process, one_lost));
  EXPECT_TRUE(kept(Durability::none, one_lost));
  EXPECT_TRUE(kept(Durability::power, {outcome(0)}));
}

TEST(Verdict, holds_a_broken_database_against_class_power_alone_and_reports_the_others) {
  auto mixed = outcome(0);
  mixed.judgement.rows_never_written = 1;
  auto damaged = outcome(0);
  damaged.judgement.rows_unreadable = 1;
  for (const auto& broken : {mixed, damaged, outcome(0, Kind::database_failed)}) {
    EXPECT_FALSE(kept(Durability::power, {outcome(0), broken}));
    EXPECT_TRUE(kept(Durability::process, {outcome(0), broken}));
    EXPECT_TRUE(kept(Durability::none, {outcome(0), broken}));
  }
  const auto summary = summary_of(std::vector{outcome(0), outcome(0, Kind::database_failed)});
  EXPECT_EQ(verdict_on(Durability::process, summary).text,
            "promises nothing about a power cut; 1 databases did not open");
}

TEST(Verdict, counts_the_file_systems_failures_apart) {
  const auto summary = summary_of(std::vector{outcome(0), outcome(9, Kind::file_system_failed)});
  EXPECT_EQ(summary.file_systems_failed, 1);
  EXPECT_EQ(summary.rows_checked, 100);
  EXPECT_EQ(summary.rows_lost, 0);
  EXPECT_TRUE(verdict_on(Durability::power, summary).kept);
}

TEST(Verdict, keeps_nothing_when_no_cut_could_be_examined) {
  EXPECT_FALSE(kept(Durability::power, {}));
  EXPECT_FALSE(kept(Durability::none, {outcome(0, Kind::file_system_failed)}));
}

TEST(Verdict, says_whether_every_cut_left_a_state_of_an_earlier_moment) {
  auto with_holes = outcome(2);
  with_holes.judgement.earlier_state = false;
  auto unordered = outcome(2);
  unordered.judgement.earlier_state = std::nullopt;
  EXPECT_EQ(summary_of(std::vector{outcome(1), outcome(2)}).earlier_state, true);
  EXPECT_EQ(summary_of(std::vector{outcome(1), with_holes, outcome(2)}).earlier_state, false);
  EXPECT_EQ(summary_of(std::vector{unordered}).earlier_state, std::nullopt);
}

}  // namespace
}  // namespace edgejoule::driver
