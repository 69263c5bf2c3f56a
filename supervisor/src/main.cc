// edgejoule-supervisor: see `usage` in options.cc and README.md.
#include <fcntl.h>

#include <cstdio>
#include <stdexcept>

#include "options.h"
#include "supervising.h"

namespace {

int refuse(const char* message) {
  std::fprintf(stderr, "edgejoule-supervisor: %s; see --help\n", message);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace edgejoule::supervisor;
  try {
    const Options options = parse_options(argc, argv);
    if (options.help || options.version) {
      std::fputs(options.help ? usage : "edgejoule-supervisor " EDGEJOULE_VERSION "\n", stdout);
      return 0;
    }
    if (::fcntl(options.report_fd, F_GETFD) < 0) return refuse("--report-fd names a descriptor that is not open");
    return supervise(options);
  } catch (const std::invalid_argument& error) {
    return refuse(error.what());
  }
}
