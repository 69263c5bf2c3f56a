// Measures the cost of the driver: runs the same operations on the noop database in the same process.
#pragma once

#include <cstdint>

#include "invocation.h"

namespace edgejoule::driver {

struct DriverShare {
  std::uint64_t operations;
  double driver_cpu_ns_per_op;
};

// Runs at most `operations_max` operations (never more than 200 000), unpaced, with the seed and threads of the run.
// Does not verify rows, since noop has none.
[[nodiscard]] DriverShare measure_driver_share(const Invocation& invocation, std::uint64_t operations_max);

}  // namespace edgejoule::driver
