#include "patience.h"

#include <gtest/gtest.h>

namespace {

using namespace eco;
using Limits = Patience::Limits;

TEST(Patience, lasts_while_a_worker_moves_and_speaks) {
  Patience patience(Limits{.usual_s = 10}, 1000, 100);
  for (int s = 1; s <= 10; ++s) {
    patience.progressed(100 + s, static_cast<std::uint64_t>(100 * s), 0);
    EXPECT_EQ(patience.exhausted(100 + s), "");
  }
}

TEST(Patience, ends_with_the_heartbeats) {
  Patience patience(Limits{.heartbeat_s = 3}, 1000, 100);
  patience.heard(102);
  EXPECT_EQ(patience.exhausted(104.9), "");
  EXPECT_NE(patience.exhausted(105.1), "");
}

TEST(Patience, ends_when_a_worker_only_speaks) {
  Patience patience(Limits{.heartbeat_s = 3, .standstill_s = 10}, 1000, 100);
  for (int s = 1; s <= 10; ++s) patience.progressed(100 + s, 0, 0);
  EXPECT_EQ(patience.exhausted(110), "");
  patience.heard(110.5);
  EXPECT_NE(patience.exhausted(110.5), "");
}

TEST(Patience, ends_when_the_rest_takes_longer_than_a_local_compaction) {
  Patience patience(Limits{.usual_s = 4}, 1000, 100);
  patience.progressed(100, 1, 0);
  patience.progressed(102, 400, 0);  // 3 s more
  EXPECT_EQ(patience.exhausted(102), "");
  patience.progressed(103, 410, 0);  // 4.3 s more
  EXPECT_NE(patience.exhausted(103), "");
}

TEST(Patience, does_not_take_the_begin_of_a_slow_server_for_its_speed) {
  Patience patience(Limits{.heartbeat_s = 10, .usual_s = 4}, 1000, 100);
  patience.progressed(104, 10, 0);
  patience.progressed(106.5, 410, 0);  // 3.7 s more
  EXPECT_EQ(patience.exhausted(106.5), "");
  patience.progressed(108, 450, 0);  // 5 s more
  EXPECT_NE(patience.exhausted(108), "");
}

TEST(Patience, ends_when_a_worker_does_not_begin) {
  Patience patience(Limits{.heartbeat_s = 10, .usual_s = 4}, 1000, 100);
  patience.progressed(104.9, 0, 0);
  EXPECT_EQ(patience.exhausted(104.9), "");
  EXPECT_NE(patience.exhausted(105.1), "");
}

TEST(Patience, for_the_verification_is_bounded_by_the_total_alone) {
  Patience patience(Limits{.heartbeat_s = 3, .total_s = 60, .usual_s = 1}, 1000, 100);
  patience.received();
  EXPECT_EQ(patience.exhausted(150), "");
  EXPECT_NE(patience.exhausted(161), "");
}

}  // namespace
