// A sleep ends at its time, or at once at a signal. Each test has its own process, because a received signal is
// remembered.
#include "system/interruption.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "system/system.h"
#include "system/usage.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

void end_with(bool as_expected) { std::_Exit(as_expected ? 0 : 1); }

TEST(Interruption, SleepEndsAtItsTimeAndNotBefore) {
  const auto end_ns = now_monotonic_ns() + second_ns / 20;
  sleep_until(end_ns);
  EXPECT_GE(now_monotonic_ns(), end_ns);
}

TEST(Interruption, SleepUntilATimeThatIsOverIsNone) {
  sleep_until(0);
  sleep_until(now_monotonic_ns());
}

TEST(Interruption, SleepCostsNextToNothing) {
  const auto cpu_ns = process_cpu_ns();
  sleep_until(now_monotonic_ns() + second_ns / 5);
  EXPECT_LT(process_cpu_ns() - cpu_ns, second_ns / 100);  // polling or spinning would use the whole fifth of a second
}

TEST(InterruptionDeathTest, ASignalEndsTheSleep) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto interrupted_early = [] {
    catch_interruptions();
    const auto end_ns = now_monotonic_ns() + 600 * second_ns;
    std::thread other([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      kill(getpid(), SIGINT);
    });
    sleep_until(end_ns);
    other.join();
    end_with(interruption() == SIGINT && now_monotonic_ns() < end_ns);
  };
  EXPECT_EXIT(interrupted_early(), testing::ExitedWithCode(0), "");
}

TEST(InterruptionDeathTest, AfterASignalThereIsNoSleep) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto awake = [] {
    catch_interruptions();
    raise(SIGTERM);
    const auto end_ns = now_monotonic_ns() + 600 * second_ns;
    sleep_until(end_ns);
    end_with(interruption() == SIGTERM && now_monotonic_ns() < end_ns);
  };
  EXPECT_EXIT(awake(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace edgejoule::driver
