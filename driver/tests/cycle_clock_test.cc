// The rate of the cycle counter, also when the thread loses the processor while it is measured.
#include "cycle_clock.h"

#include <gtest/gtest.h>

#include <set>

#include "same_instant.h"

namespace edgejoule::driver {
namespace {

// Two clocks of one time, three ticks a ns; each reading takes 20 ns, and those that are listed 5 ms.
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
  const auto begin_ns = now_monotonic_ns();
  const auto begin = clock.now();
  while (now_monotonic_ns() - begin_ns < 20'000'000) continue;
  const auto end = clock.now();
  const auto end_ns = now_monotonic_ns();
  // Read inside: never more than the monotonic clock says, but for the calibration's own error.
  EXPECT_LE(static_cast<double>(clock.to_ns(end - begin)), 1.001 * static_cast<double>(end_ns - begin_ns));
}

}  // namespace
}  // namespace edgejoule::driver
