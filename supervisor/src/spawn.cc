#include "spawn.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace edgejoule::supervisor {
namespace {

// Runs in the memory of the parent (vfork), so only system calls are permitted.
[[noreturn]] void become(const char* file, char* const* argv, char* const* environment, pid_t parent,
                         volatile int* error) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before the line above
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(file, argv, environment);
  *error = errno;
  ::_exit(127);
}

}  // namespace

Spawned spawn(const char* file, char* const* argv, char* const* environment) {
  const pid_t parent = ::getpid();
  volatile int error = 0;
  // vfork: the cost of a start does not depend on the size of this process, and this process sees the error of execve.
  const pid_t pid = ::vfork();
  if (pid == 0) become(file, argv, environment, parent, &error);
  if (pid < 0) return {-1, errno};
  if (error == 0) return {pid, 0};
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {-1, error};
}

}  // namespace edgejoule::supervisor
