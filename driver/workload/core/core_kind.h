// The workload kind for YCSB's core workload, with its properties.
#pragma once

#include "workload/workload_kinds.h"

namespace edgejoule::driver {

[[nodiscard]] WorkloadKind core();

}  // namespace edgejoule::driver
