#include <signal.h>
#include <stdlib.h>

#include "cli.h"

int main(int argc, char** argv) {
  // A file size limit is an error the database reports in its own words, not the process's death.
  signal(SIGXFSZ, SIG_IGN);
  // libmongoc keeps counters in shared memory under its process id. A killed process leaves them there, and the next
  // process with the same id prints a warning when the adapter is loaded. Nobody reads the counters.
  setenv("MONGOC_DISABLE_SHM", "1", 0);
  return edgejoule::driver::command_line(argc, argv);
}
