// SIGINT, SIGTERM and SIGHUP: the first signal stops the run cleanly, a second ends the process at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace edgejoule::driver {

// SIGHUP stays ignored if the process was started that way (nohup).
void catch_interruptions();

// In a forked child: restores the default, so that the signals end the child.
void end_at_interruptions();

// In a forked child that its parent stops: ignores the signals.
void ignore_interruptions();

// The signal received, 0 if none.
[[nodiscard]] int interruption();

// A loaded adapter module contains a copy of this file. The copy uses the program's state through this function.
[[nodiscard]] std::atomic<int>& interruption_state();
void share_interruption_state(std::atomic<int>& of_program);

// "SIGTERM"; empty if no signal was received.
[[nodiscard]] std::string_view interruption_name();

// Sleeps until that time of CLOCK_MONOTONIC. An interruption ends the sleep at once. Wakes once a second. Only for the
// main thread, to which the kernel delivers the process's signals.
void sleep_until(std::uint64_t monotonic_ns);

// Waits for a line on standard input, its end, or an interruption. Returns true if a line was read.
[[nodiscard]] bool wait_for_line();

}  // namespace edgejoule::driver
