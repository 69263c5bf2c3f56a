#include "durability/block_trace.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace edgejoule::driver {
namespace {

std::array<std::byte, 512> sector(std::uint8_t content) {
  std::array<std::byte, 512> sector;
  sector.fill(std::byte{content});
  return sector;
}

TEST(BlockTrace, keeps_writes_and_flushes_in_order_with_their_data) {
  BlockTrace trace(10, 4096);
  ASSERT_TRUE(trace.add_write(1024, sector(7), 100));
  ASSERT_TRUE(trace.add_flush(200));
  ASSERT_TRUE(trace.add_write(0, sector(8), 300));
  ASSERT_EQ(trace.size(), 3);
  EXPECT_EQ(trace.entry(0).kind, TraceEntry::Kind::write);
  EXPECT_EQ(trace.entry(0).offset, 1024);
  EXPECT_TRUE(std::ranges::equal(trace.data(trace.entry(0)), sector(7)));
  EXPECT_EQ(trace.entry(1).kind, TraceEntry::Kind::flush);
  EXPECT_TRUE(std::ranges::equal(trace.data(trace.entry(2)), sector(8)));
}

TEST(BlockTrace, says_that_it_is_full_and_takes_nothing_more) {
  BlockTrace trace(10, 1000);
  ASSERT_TRUE(trace.add_write(0, sector(1), 1));
  EXPECT_FALSE(trace.add_write(0, sector(2), 2));
  EXPECT_TRUE(trace.full());
  EXPECT_FALSE(trace.add_flush(3));
  EXPECT_EQ(trace.size(), 1);
}

TEST(BlockTrace, finds_the_position_of_a_time) {
  BlockTrace trace(10, 1000);
  for (const std::uint64_t time_ns : {100, 200, 300}) ASSERT_TRUE(trace.add_flush(time_ns));
  EXPECT_EQ(trace.position_at(50), 0);
  EXPECT_EQ(trace.position_at(200), 1);
  EXPECT_EQ(trace.position_at(250), 2);
  EXPECT_EQ(trace.position_at(400), 3);
}

TEST(BlockTrace, is_seen_by_the_process_that_made_it_when_a_child_adds) {
  BlockTrace trace(10, 1000);
  const pid_t child = fork();
  if (child == 0) _exit(trace.add_write(512, sector(9), 1) ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(trace.size(), 1);
  EXPECT_TRUE(std::ranges::equal(trace.data(trace.entry(0)), sector(9)));
}

TEST(PrivateView, changes_nothing_in_what_it_views) {
  const SharedMemory base("base", 8192);
  base.bytes()[5000] = std::byte{1};
  {
    const PrivateView view(base);
    EXPECT_EQ(view.bytes()[5000], std::byte{1});
    view.bytes()[5000] = std::byte{2};
  }
  EXPECT_EQ(base.bytes()[5000], std::byte{1});
}

}  // namespace
}  // namespace edgejoule::driver
