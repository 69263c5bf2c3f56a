// The command line.
#pragma once

namespace edgejoule::driver {

// Carries out what the arguments ask for and returns the exit status: 0 done, 1 failed, 2 asked wrongly,
// 130 interrupted. Every failure is one line on standard error.
[[nodiscard]] int command_line(int argc, const char* const* argv);

}  // namespace edgejoule::driver
