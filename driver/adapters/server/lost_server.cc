#include "lost_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "system/interruption.h"

namespace edgejoule::driver {
namespace {

// Calls `attempt` at least once, with the remaining time in ms, until it succeeds. Returns false if the time passed or
// an interruption came.
bool done_within(std::uint64_t wait_ms, const std::function<bool(std::uint64_t)>& attempt) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds first_pause{5};
  const auto deadline = Clock::now() + std::chrono::milliseconds(wait_ms);
  const auto left_ms = [&] {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    return static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 1));
  };
  for (auto pause = first_pause; !attempt(left_ms()); pause = std::min(2 * pause, interruption_poll)) {
    if (Clock::now() + pause >= deadline || interruption() != 0) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace

Recovery recover(const LostServer& lost, std::uint64_t reconnect_ms, ServerCounters& counters,
                 const ConnectWithin& connect) {
  ++counters.connections_lost;
  if (lost.timed_out()) ++counters.timeouts;
  if (reconnect_ms == 0 || interruption() != 0) return {Status::error, lost.what()};
  std::string last;
  const bool back = done_within(reconnect_ms, [&](std::uint64_t left_ms) {
    try {
      connect(left_ms);
      return true;
    } catch (const std::runtime_error& failure) {
      last = failure.what();
      return false;
    }
  });
  if (!back) return {Status::error, fmt::format("{}; not back within {} ms: {}", lost.what(), reconnect_ms, last)};
  ++counters.reconnections;
  return {Status::busy, lost.what()};
}

void connect_when_ready(std::uint64_t reconnect_ms, const std::function<void()>& connect) {
  std::string last;
  const bool ready = done_within(reconnect_ms, [&](std::uint64_t /*left_ms*/) {
    try {
      connect();
      return true;
    } catch (const NotReady& failure) {
      last = failure.what();
      return false;
    }
  });
  if (!ready) throw NotReady(fmt::format("{}; not ready within {} ms", last, reconnect_ms));
}

}  // namespace edgejoule::driver
