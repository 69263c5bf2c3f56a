// SIGINT, SIGTERM and SIGHUP: the first asks the run to stop in good order, a second ends the process at once.
#pragma once

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

// "SIGTERM"; empty when none came.
[[nodiscard]] std::string_view interruption_name();

}  // namespace edgejoule::driver
