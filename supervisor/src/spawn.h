// Starts the command's process.
#pragma once

#include <sys/types.h>

namespace edgejoule::supervisor {

struct Spawned {
  pid_t pid;  // -1: the process could not be created or the program not executed
  int error;  // errno of that failure
};

// Runs `file` in a new process group, with an empty signal mask and the default action of SIGPIPE. The process receives
// SIGKILL when the caller's thread ends. It inherits the descriptors without close-on-exec. Returns once the program
// runs.
[[nodiscard]] Spawned spawn(const char* file, char* const* argv, char* const* environment);

}  // namespace edgejoule::supervisor
