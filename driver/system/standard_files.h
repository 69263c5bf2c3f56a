// Descriptors 0, 1 and 2, which the caller may have closed.
#pragma once

namespace edgejoule::driver {

// Occupies each of the three that is closed, so that no file of a database gets its number and receives the driver's
// output. Using standard input or output remains an error; what is written to a closed standard error is dropped.
void occupy_closed_descriptors();

}  // namespace edgejoule::driver
