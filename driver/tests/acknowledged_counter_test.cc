#include "acknowledged_counter.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace edgejoule::driver {
namespace {

TEST(AcknowledgedCounter, begins_behind_the_records_that_are_there) {
  AcknowledgedCounter counter(1000);
  EXPECT_EQ(counter.acknowledged(), 1000U);
  EXPECT_EQ(counter.next(), 1000U);
  EXPECT_EQ(counter.acknowledged(), 1000U);
}

TEST(AcknowledgedCounter, a_gap_holds_back_what_comes_after_it) {
  AcknowledgedCounter counter(0);
  for (int i = 0; i < 3; ++i) static_cast<void>(counter.next());
  counter.acknowledge(2);
  counter.acknowledge(1);
  EXPECT_EQ(counter.acknowledged(), 0U);
  counter.acknowledge(0);
  EXPECT_EQ(counter.acknowledged(), 3U);
}

TEST(AcknowledgedCounter, no_thread_sees_a_number_before_it_is_acknowledged) {
  constexpr unsigned threads = 4;
  constexpr std::uint64_t each = 20'000;
  AcknowledgedCounter counter(0);
  std::vector<std::atomic<bool>> inserted(threads * each);
  std::atomic<std::uint64_t> seen_too_early = 0;
  std::vector<std::thread> workers;
  for (unsigned worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&] {
      for (std::uint64_t i = 0; i < each; ++i) {
        const auto number = counter.next();
        inserted[number].store(true, std::memory_order_relaxed);
        counter.acknowledge(number);
        const auto newest = counter.acknowledged() - 1;
        if (!inserted[newest].load(std::memory_order_relaxed)) ++seen_too_early;
      }
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(seen_too_early, 0U);
  EXPECT_EQ(counter.acknowledged(), threads * each);
}

TEST(AcknowledgedCounter, goes_on_after_the_window_has_wrapped) {
  AcknowledgedCounter counter(5);
  const auto count = AcknowledgedCounter::window + 100;
  for (std::uint64_t i = 0; i < count; ++i) counter.acknowledge(counter.next());
  EXPECT_EQ(counter.acknowledged(), 5 + count);
}

}  // namespace
}  // namespace edgejoule::driver
