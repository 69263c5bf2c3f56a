#include <signal.h>

#include "cli.h"

int main(int argc, char** argv) {
  // A file size limit is an error the database reports in its own words, not the process's death.
  signal(SIGXFSZ, SIG_IGN);
  return edgejoule::driver::command_line(argc, argv);
}
