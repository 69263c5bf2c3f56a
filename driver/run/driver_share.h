// What the driver itself costs: the same operation stream on noop, in the same process.
#pragma once

#include <cstdint>

#include "invocation.h"

namespace edgejoule::driver {

struct DriverShare {
  std::uint64_t operations;
  double driver_cpu_ns_per_op;
};

// At most `operations_max` operations (capped at 200 000), unpaced, with the seed and threads of the run. Rows are not
// verified: there are none.
[[nodiscard]] DriverShare measure_driver_share(const Invocation& invocation, std::uint64_t operations_max);

}  // namespace edgejoule::driver
