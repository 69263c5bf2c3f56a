#include "lost_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace edgejoule::driver {

Recovery recover(const LostServer& lost, std::uint64_t reconnect_ms, ServerCounters& counters,
                 const std::function<void()>& connect) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds first_pause{5};
  constexpr std::chrono::milliseconds longest_pause{200};
  ++counters.connections_lost;
  if (lost.timed_out()) ++counters.timeouts;
  if (reconnect_ms == 0) return {Status::error, lost.what()};
  const auto deadline = Clock::now() + std::chrono::milliseconds(reconnect_ms);
  std::string last;
  for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    try {
      connect();
      ++counters.reconnections;
      return {Status::busy, lost.what()};
    } catch (const std::runtime_error& failure) {
      last = failure.what();
    }
    if (Clock::now() + pause >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  return {Status::error, fmt::format("{}; not back within {} ms: {}", lost.what(), reconnect_ms, last)};
}

}  // namespace edgejoule::driver
