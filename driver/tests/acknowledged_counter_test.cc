#include "workload/core/acknowledged_counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace edgejoule::driver {
namespace {

const std::atomic<bool> running = false;  // a stop that is never set

TEST(AcknowledgedCounter, begins_behind_the_records_that_are_there) {
  AcknowledgedCounter counter(1000);
  EXPECT_EQ(counter.acknowledged(), 1000U);
  EXPECT_EQ(counter.next(running), 1000U);
  EXPECT_EQ(counter.acknowledged(), 1000U);
}

TEST(AcknowledgedCounter, a_gap_holds_back_what_comes_after_it) {
  AcknowledgedCounter counter(0);
  for (int i = 0; i < 3; ++i) static_cast<void>(counter.next(running));
  counter.acknowledge(2);
  counter.acknowledge(1);
  EXPECT_EQ(counter.acknowledged(), 0U);
  counter.acknowledge(0);
  EXPECT_EQ(counter.acknowledged(), 3U);
}

// Threads insert for a while. Returns how often one saw a newest number that was not inserted yet.
template <typename Counter>
std::uint64_t numbers_seen_too_early() {
  constexpr unsigned threads = 8;
  constexpr std::uint64_t each = 200;
  Counter counter(0);
  std::vector<std::atomic<bool>> inserted(threads * each);
  std::atomic<std::uint64_t> seen_too_early = 0;
  std::vector<std::thread> workers;
  for (unsigned worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&] {
      for (std::uint64_t i = 0; i < each; ++i) {
        const auto number = counter.next(running).value();
        std::this_thread::sleep_for(std::chrono::microseconds(number * 7919 % 100));
        inserted[number].store(true, std::memory_order_relaxed);
        counter.acknowledge(number);
        const auto end = counter.acknowledged();
        if (end > 0 && !inserted[end - 1].load(std::memory_order_relaxed)) ++seen_too_early;
      }
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(counter.acknowledged(), threads * each);
  return seen_too_early;
}

// Mutants.
class HandedOut {
 public:
  explicit HandedOut(std::uint64_t first) : next_(first) {}
  std::optional<std::uint64_t> next(const std::atomic<bool>&) { return next_++; }
  void acknowledge(std::uint64_t) {}
  [[nodiscard]] std::uint64_t acknowledged() const { return next_; }

 private:
  std::atomic<std::uint64_t> next_;
};

class CountOfAcknowledged {
 public:
  explicit CountOfAcknowledged(std::uint64_t first) : next_(first), acknowledged_(first) {}
  std::optional<std::uint64_t> next(const std::atomic<bool>&) { return next_++; }
  void acknowledge(std::uint64_t) { ++acknowledged_; }
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  std::atomic<std::uint64_t> next_;
  std::atomic<std::uint64_t> acknowledged_;
};

TEST(AcknowledgedCounter, no_thread_sees_a_number_before_it_is_acknowledged) {
  EXPECT_EQ(numbers_seen_too_early<AcknowledgedCounter>(), 0U);
  EXPECT_GT(numbers_seen_too_early<HandedOut>(), 0U);
  EXPECT_GT(numbers_seen_too_early<CountOfAcknowledged>(), 0U);
}

TEST(AcknowledgedCounter, goes_on_after_the_window_has_wrapped) {
  AcknowledgedCounter counter(5);
  const auto count = AcknowledgedCounter::window + 100;
  for (std::uint64_t i = 0; i < count; ++i) counter.acknowledge(counter.next(running).value());
  EXPECT_EQ(counter.acknowledged(), 5 + count);
}

// One number stays unacknowledged, as on a connection without an answer. All others in the window are acknowledged.
std::uint64_t fill_window(AcknowledgedCounter& counter) {
  const auto unanswered = counter.next(running).value();
  for (std::uint64_t i = 1; i < AcknowledgedCounter::window; ++i) counter.acknowledge(counter.next(running).value());
  EXPECT_EQ(counter.acknowledged(), unanswered);
  return unanswered;
}

TEST(AcknowledgedCounter, a_wait_for_a_full_window_ends_with_the_stop_and_loses_no_number) {
  AcknowledgedCounter counter(0);
  const auto unanswered = fill_window(counter);
  std::atomic<bool> stop = false;
  std::optional<std::uint64_t> handed_out = 1;
  std::thread waiting([&] { handed_out = counter.next(stop); });
  stop = true;
  waiting.join();
  EXPECT_FALSE(handed_out);
  counter.acknowledge(unanswered);
  EXPECT_EQ(counter.acknowledged(), AcknowledgedCounter::window);
  EXPECT_EQ(counter.next(running), AcknowledgedCounter::window);
}

TEST(AcknowledgedCounter, a_wait_for_a_full_window_ends_when_the_first_number_is_acknowledged) {
  AcknowledgedCounter counter(0);
  const auto unanswered = fill_window(counter);
  std::thread waiting([&] { counter.acknowledge(counter.next(running).value()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  counter.acknowledge(unanswered);
  waiting.join();
  EXPECT_EQ(counter.acknowledged(), AcknowledgedCounter::window + 1);
}

}  // namespace
}  // namespace edgejoule::driver
