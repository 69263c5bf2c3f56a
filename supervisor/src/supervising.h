// Runs the repetitions of a command and reports them.
#pragma once

#include "options.h"

namespace edgejoule::supervisor {

// Returns the supervisor's exit code: 0 if all repetitions ended, whatever the command returned; 126 or 127 if the
// command could not be started; 128 + N if signal N stopped it; otherwise 1.
[[nodiscard]] int supervise(const Options& options);

}  // namespace edgejoule::supervisor
