#include "standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace edgejoule::driver {

void occupy_closed_descriptors() {
  // open takes the lowest free descriptor. The access modes make a read of 0 and a write to 1 fail.
  for (const auto& [descriptor, access] :
       {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}}) {
    if (fcntl(descriptor, F_GETFD) < 0) (void)open("/dev/null", access);
  }
}

}  // namespace edgejoule::driver
