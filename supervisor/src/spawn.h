// Starts the command's process.
#pragma once

#include <sys/types.h>

namespace edgejoule::supervisor {

struct Spawned {
  pid_t pid;  // -1: no process could be made, or the program could not be executed
  int error;  // errno then
};

// Runs `file` in a process group of its own, with an empty signal mask and SIGPIPE at its default; SIGKILL reaches it
// when the caller's thread dies. The descriptors without close-on-exec are inherited. Returns when the program runs.
[[nodiscard]] Spawned spawn(const char* file, char* const* argv, char* const* environment);

}  // namespace edgejoule::supervisor
