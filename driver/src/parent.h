// The process that started this one.
#pragma once

#include <sys/types.h>

namespace edgejoule::driver {

// From now on the kernel kills this process (SIGKILL) when the thread that started it ends; at once when the parent is
// not `expected` any more (0: whatever parent there is). Throws std::system_error.
void die_with_parent(pid_t expected);

}  // namespace edgejoule::driver
