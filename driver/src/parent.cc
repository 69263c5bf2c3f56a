#include "parent.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace edgejoule::driver {

void die_with_parent(pid_t expected) {
  const pid_t parent = expected == 0 ? getppid() : expected;
  if (prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL)) != 0) {
    throw std::system_error(errno, std::generic_category(), "--die-with-parent");
  }
  // A parent that ended before the call sends no signal any more.
  if (getppid() != parent) raise(SIGKILL);
}

}  // namespace edgejoule::driver
