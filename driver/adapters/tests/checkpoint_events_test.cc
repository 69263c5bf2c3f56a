#include "adapters/server/checkpoint_events.h"

#include <gtest/gtest.h>

namespace edgejoule::driver {
namespace {

class CheckpointEventsTest : public testing::Test {
 protected:
  CheckpointEventsTest() {
    events_.begin([this](const DatabaseEvent& event) { reported_.push_back(event); }, {10, 500, 1'000'000});
  }

  CheckpointEvents events_;
  std::vector<DatabaseEvent> reported_;
};

TEST_F(CheckpointEventsTest, checkpoints_since_the_last_look_are_one_event) {
  events_.observe({10, 500, 1'000'000});
  EXPECT_TRUE(reported_.empty());
  events_.observe({12, 530, 1'004'096});
  ASSERT_EQ(reported_.size(), 1U);
  EXPECT_EQ(reported_[0].kind, DatabaseEvent::Kind::checkpoint);
  EXPECT_EQ(reported_[0].duration_ns, 30'000'000);
  EXPECT_EQ(reported_[0].read_bytes, -1);
  EXPECT_EQ(reported_[0].write_bytes, 4096);
  EXPECT_EQ(reported_[0].detail, "2 checkpoints that ended since the last query");
}

TEST_F(CheckpointEventsTest, what_the_server_does_not_say_is_missing) {
  events_.observe({11, 500, std::nullopt});
  ASSERT_EQ(reported_.size(), 1U);
  EXPECT_EQ(reported_[0].duration_ns, -1);
  EXPECT_EQ(reported_[0].write_bytes, -1);
}

TEST_F(CheckpointEventsTest, a_server_that_was_restarted_is_counted_from_zero) {
  events_.observe({1, 20, 8192});
  ASSERT_EQ(reported_.size(), 1U);
  EXPECT_EQ(reported_[0].duration_ns, 20'000'000);
  EXPECT_EQ(reported_[0].write_bytes, 8192);
}

}  // namespace
}  // namespace edgejoule::driver
