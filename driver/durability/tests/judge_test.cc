#include "durability/judge.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "system/random.h"
#include "test_seed.h"

namespace edgejoule::driver {
namespace {

using Kind = WriteOperation::Kind;

constexpr Found absent{Found::Kind::absent};
constexpr Found never_written{Found::Kind::never_written};
constexpr Found unreadable{Found::Kind::unreadable};
constexpr Found version(std::uint32_t number) { return {Found::Kind::version, number}; }

constexpr std::uint64_t ms = 1'000'000;

// A write that began at one position and was acknowledged at another, which is also its time in ms.
PerformedWrite acknowledged(Kind kind, std::uint32_t key, std::uint32_t number, std::uint64_t begun, std::uint64_t at) {
  return {{kind, key, number}, begun, at, at * ms};
}

PerformedWrite unanswered(Kind kind, std::uint32_t key, std::uint32_t number, std::uint64_t begun) {
  return {{kind, key, number}, begun, std::nullopt, 0};
}

Judgement judged(const std::vector<PerformedWrite>& writes, std::uint64_t cut, const std::vector<Found>& found) {
  return judge(writes, true, cut, cut * ms, found);
}

const std::vector<PerformedWrite> insert_and_update = {acknowledged(Kind::insert, 0, 1, 0, 10),
                                                       acknowledged(Kind::update, 0, 2, 10, 20)};

TEST(Judge, finds_no_loss_when_the_acknowledged_version_is_there) {
  const auto judgement = judged(insert_and_update, 20, {version(2)});
  EXPECT_EQ(judgement.rows_checked, 1);
  EXPECT_EQ(judgement.rows_lost, 0);
  EXPECT_EQ(judgement.oldest_lost_operations, std::nullopt);
  EXPECT_EQ(judgement.oldest_lost_ms, std::nullopt);
}

TEST(Judge, finds_an_acknowledged_update_that_is_undone) {
  EXPECT_EQ(judged(insert_and_update, 20, {version(1)}).rows_lost, 1);
  EXPECT_EQ(judged(insert_and_update, 20, {absent}).rows_lost, 1);
}

TEST(Judge, permits_an_update_that_was_not_acknowledged_before_the_cut_either_way) {
  for (const std::uint64_t cut : {10, 15, 19}) {
    EXPECT_EQ(judged(insert_and_update, cut, {version(1)}).rows_lost, 0);
    EXPECT_EQ(judged(insert_and_update, cut, {version(2)}).rows_lost, 0);
    EXPECT_EQ(judged(insert_and_update, cut, {absent}).rows_lost, 1);
  }
}

TEST(Judge, holds_an_acknowledgement_given_at_the_cut_to_be_given) {
  EXPECT_EQ(judged(insert_and_update, 19, {version(1)}).rows_lost, 0);
  EXPECT_EQ(judged(insert_and_update, 20, {version(1)}).rows_lost, 1);
}

TEST(Judge, permits_a_failed_write_either_way) {
  const std::vector writes = {acknowledged(Kind::insert, 0, 1, 0, 10), unanswered(Kind::update, 0, 2, 10)};
  EXPECT_EQ(judged(writes, 50, {version(1)}).rows_lost, 0);
  EXPECT_EQ(judged(writes, 50, {version(2)}).rows_lost, 0);
}

TEST(Judge, finds_an_acknowledged_remove_that_is_undone) {
  const std::vector writes = {acknowledged(Kind::insert, 0, 1, 0, 10), acknowledged(Kind::remove, 0, 2, 10, 20)};
  EXPECT_EQ(judged(writes, 20, {absent}).rows_lost, 0);
  EXPECT_EQ(judged(writes, 20, {version(1)}).rows_lost, 1);
  EXPECT_EQ(judged(writes, 15, {absent}).rows_lost, 0);
}

TEST(Judge, distinguishes_content_that_was_never_written_from_lost_content) {
  const auto judgement = judged(insert_and_update, 20, {never_written});
  EXPECT_EQ(judgement.rows_never_written, 1);
  EXPECT_EQ(judgement.rows_lost, 1);
}

TEST(Judge, reports_a_version_from_after_the_cut) {
  EXPECT_EQ(judged(insert_and_update, 5, {version(2)}).rows_never_written, 1);
}

TEST(Judge, reports_a_row_that_no_write_made) {
  const std::vector<PerformedWrite> none = {{{Kind::insert, 0, 1}, std::nullopt, std::nullopt, 0}};
  const auto judgement = judged(none, 5, {version(1)});
  EXPECT_EQ(judgement.rows_never_written, 1);
  EXPECT_EQ(judgement.rows_checked, 0);
}

TEST(Judge, counts_a_row_that_cannot_be_read_as_lost_and_unreadable) {
  const auto judgement = judged(insert_and_update, 20, {unreadable});
  EXPECT_EQ(judgement.rows_unreadable, 1);
  EXPECT_EQ(judgement.rows_never_written, 0);
  EXPECT_EQ(judgement.rows_lost, 1);
}

TEST(Judge, says_how_old_the_oldest_lost_write_is) {
  const std::vector writes = {acknowledged(Kind::insert, 0, 1, 0, 10), acknowledged(Kind::insert, 1, 1, 10, 20),
                              acknowledged(Kind::insert, 2, 1, 20, 30), acknowledged(Kind::insert, 3, 1, 30, 40)};
  const auto judgement = judged(writes, 45, {version(1), absent, version(1), absent});
  EXPECT_EQ(judgement.rows_lost, 2);
  EXPECT_EQ(judgement.oldest_lost_operations, 2);
  EXPECT_DOUBLE_EQ(judgement.oldest_lost_ms.value(), 25);
}

TEST(Judge, knows_the_state_of_an_earlier_moment_from_one_with_holes) {
  const std::vector writes = {acknowledged(Kind::insert, 0, 1, 0, 10), acknowledged(Kind::insert, 1, 1, 10, 20),
                              acknowledged(Kind::update, 0, 2, 20, 30), acknowledged(Kind::remove, 1, 2, 30, 40)};
  const auto earlier = [&](const std::vector<Found>& found) { return judged(writes, 40, found).earlier_state; };
  EXPECT_EQ(earlier({absent, absent}), true);
  EXPECT_EQ(earlier({version(1), absent}), true);
  EXPECT_EQ(earlier({version(1), version(1)}), true);
  EXPECT_EQ(earlier({version(2), version(1)}), true);
  EXPECT_EQ(earlier({version(2), absent}), true);
  EXPECT_EQ(earlier({absent, version(1)}), false);
  EXPECT_EQ(earlier({never_written, absent}), false);
  EXPECT_EQ(judge(writes, false, 40, 0, std::vector{absent, absent}).earlier_state, std::nullopt);
}

// A database that has the first `kept` writes and none of the others.
std::vector<Found> state_after(const std::vector<PerformedWrite>& writes, std::size_t kept, std::size_t keys) {
  std::vector<Found> found(keys, absent);
  for (std::size_t number = 0; number < kept; ++number) {
    const auto& operation = writes[number].operation;
    found[operation.key] = operation.kind == Kind::remove ? absent : version(operation.version);
  }
  return found;
}

// A stream in which write i begins at position 10 i and is acknowledged at 10 i + 5.
std::vector<PerformedWrite> steady_stream(std::uint64_t seed) {
  std::vector<PerformedWrite> writes;
  for (const auto& operation : operation_stream(400, 1, seed)) {
    const auto begun = 10 * writes.size();
    writes.push_back({operation, begun, begun + 5, (begun + 5) * ms});
  }
  return writes;
}

TEST(Judge, accepts_every_state_a_sound_database_may_be_in) {
  const auto seed = test_seed();
  const auto writes = steady_stream(seed);
  const auto keys = key_count(operation_stream(400, 1, seed));
  for (std::size_t number = 0; number < writes.size(); ++number) {
    const auto in_flight = 10 * number + 3;
    for (const auto kept : {number, number + 1}) {
      const auto judgement = judged(writes, in_flight, state_after(writes, kept, keys));
      EXPECT_EQ(judgement.rows_lost, 0) << number;
      EXPECT_EQ(judgement.earlier_state, true) << number;
    }
  }
}

TEST(Judge, finds_the_one_write_that_a_database_lacks) {
  const auto seed = test_seed();
  const auto writes = steady_stream(seed);
  const auto keys = key_count(operation_stream(400, 1, seed));
  for (std::size_t kept = 0; kept + 1 < writes.size(); ++kept) {
    const auto cut = *writes[kept].acknowledged_position;
    const auto judgement = judged(writes, cut, state_after(writes, kept, keys));
    EXPECT_EQ(judgement.rows_lost, 1) << kept;
    EXPECT_EQ(judgement.oldest_lost_operations, 0) << kept;
  }
}

// Mutant: without acknowledgements, the judge reports no loss even if the whole database is missing.
TEST(Judge, finds_loss_by_the_acknowledgements_and_by_nothing_else) {
  const auto seed = test_seed();
  auto writes = steady_stream(seed);
  const auto keys = key_count(operation_stream(400, 1, seed));
  const std::vector<Found> empty(keys, absent);
  EXPECT_GT(judged(writes, 4000, empty).rows_lost, 50);
  for (auto& write : writes) write.acknowledged_position = std::nullopt;
  EXPECT_EQ(judged(writes, 4000, empty).rows_lost, 0);
}

}  // namespace
}  // namespace edgejoule::driver
