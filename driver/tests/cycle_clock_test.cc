// The measured rate of the cycle counter, also if the thread loses the processor meanwhile; unreliable counters are
// rejected.
#include "system/cycle_clock.h"

#include <gtest/gtest.h>

#include <set>

#include "system/counter_rate.h"

namespace edgejoule::driver {
namespace {

// Two clocks of the same time, three ticks per ns. Each reading takes 20 ns, the listed ones 5 ms.
class Clocks {
 public:
  explicit Clocks(std::set<int> interrupted) : interrupted_(std::move(interrupted)) {}

  std::uint64_t ticks() { return 3 * passed(); }
  std::uint64_t ns() { return passed(); }

 private:
  std::uint64_t passed() {
    const auto now_ns = time_ns_;
    time_ns_ += interrupted_.contains(readings_++) ? 5'000'000 : 20;
    return now_ns;
  }

  std::set<int> interrupted_;
  int readings_ = 0;
  std::uint64_t time_ns_ = 1'000'000;
};

TEST(CycleClock, a_thread_that_loses_the_processor_between_two_readings_spoils_no_calibration) {
  for (const auto& interrupted : {std::set<int>{}, {0}, {1}, {2}, {0, 1, 4, 7}, {3, 9, 40, 41, 42}}) {
    Clocks clocks(interrupted);
    const auto instant = same_instant([&] { return clocks.ticks(); }, [&] { return clocks.ns(); });
    EXPECT_NEAR(static_cast<double>(instant.ticks), 3.0 * static_cast<double>(instant.ns), 60) << interrupted.size();
  }
}

TEST(CycleClock, runs_at_the_rate_of_the_monotonic_clock) {
  const CycleClock clock;
  const auto now = [&clock] { return same_instant([&clock] { return clock.now(); }, now_monotonic_ns); };
  const auto begin = now();
  while (now_monotonic_ns() - begin.ns < 20'000'000) continue;
  const auto end = now();
  const auto passed_ns = static_cast<double>(end.ns - begin.ns);
  EXPECT_NEAR(static_cast<double>(clock.to_ns(end.ticks - begin.ticks)), passed_ns, 0.002 * passed_ns) << clock.name();
}

TEST(CycleClock, converts_hours_and_back) {
  const CycleClock clock;
  constexpr std::uint64_t day_ns = 86'400'000'000'000;
  EXPECT_NEAR(static_cast<double>(clock.to_ns(clock.to_ticks(day_ns))), static_cast<double>(day_ns), 1e6);
}

constexpr Instant begin{1000, 5000};
constexpr std::uint64_t second_ns = 1'000'000'000;

Instant later(std::uint64_t ticks, std::uint64_t ns) { return {begin.ticks + ticks, begin.ns + ns}; }

TEST(CounterRate, is_the_measured_one_where_the_processor_states_none) {
  EXPECT_EQ(ns_per_tick_q32(begin, later(500'000'000, second_ns), 0), std::uint64_t{2} << 32U);
}

TEST(CounterRate, is_exactly_the_stated_one_where_the_measured_one_agrees) {
  // 54 MHz as on a Raspberry Pi 4; the reading is 0.1 % too high.
  const auto rate = ns_per_tick_q32(begin, later(54'054'000, second_ns), 54'000'000);
  ASSERT_TRUE(rate);
  EXPECT_NEAR(static_cast<double>(*rate) / 0x1.0p32, 1e9 / 54e6, 1e-8);
}

TEST(CounterRate, of_a_counter_that_disagrees_with_its_stated_rate_is_refused) {
  EXPECT_FALSE(ns_per_tick_q32(begin, later(24'000'000, second_ns), 54'000'000));
  EXPECT_FALSE(ns_per_tick_q32(begin, later(54'540'000, second_ns), 54'000'000));
  EXPECT_FALSE(ns_per_tick_q32(begin, later(53'460'000, second_ns), 54'000'000));
}

TEST(CounterRate, of_a_counter_that_stands_still_or_runs_backwards_is_refused) {
  EXPECT_FALSE(ns_per_tick_q32(begin, later(0, second_ns), 0));
  EXPECT_FALSE(ns_per_tick_q32(begin, {begin.ticks - 1, begin.ns + second_ns}, 54'000'000));
}

}  // namespace
}  // namespace edgejoule::driver
