// SIGINT and SIGTERM: the first asks the run to stop in good order, a second ends the process at once.
#pragma once

namespace edgejoule::driver {

void catch_interruptions();

// The signal that came, 0 when none did.
[[nodiscard]] int interruption();

}  // namespace edgejoule::driver
