// One run of the supervisor: the repetitions of a command and their reports.
#pragma once

#include "options.h"

namespace edgejoule::supervisor {

// Returns the exit code of the supervisor: 0 when the repetitions came to their end, whatever the command returned; 126
// and 127 when the command could not be started; 128 + N when signal N stopped it; 1 for all else.
[[nodiscard]] int supervise(const Options& options);

}  // namespace edgejoule::supervisor
