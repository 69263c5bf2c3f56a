// SIGINT, SIGTERM and SIGHUP: the first asks the run to stop in good order, a second ends the process at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace edgejoule::driver {

// SIGHUP stays ignored when the process was started so, as by nohup.
void catch_interruptions();

// In a forked child: the signals that are caught end it again.
void end_at_interruptions();

// In a forked child that its parent stops: the signals do nothing.
void ignore_interruptions();

// The signal that came, 0 when none did.
[[nodiscard]] int interruption();

// A module that the program loads has a copy of this file: its functions tell what came by the program's state.
[[nodiscard]] std::atomic<int>& interruption_state();
void share_interruption_state(std::atomic<int>& of_program);

// "SIGTERM"; empty when none came.
[[nodiscard]] std::string_view interruption_name();

// Sleeps until that time of CLOCK_MONOTONIC; an interruption ends it at once. Costs one waking a second. Only for the
// first thread, to which the kernel gives a process's signals.
void sleep_until(std::uint64_t monotonic_ns);

// Waits for a line on standard input, an interruption, or its end; whether a line came.
[[nodiscard]] bool wait_for_line();

}  // namespace edgejoule::driver
