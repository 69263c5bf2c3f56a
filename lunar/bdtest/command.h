// lunar bdtest: is a device fit for lunar, what does it cost, how long will it last.
#pragma once

namespace bdtest {

// The command line behind `lunar bdtest`, argv[0] being bdtest itself. What the process returns.
int command(int argc, char** argv);

}  // namespace bdtest
