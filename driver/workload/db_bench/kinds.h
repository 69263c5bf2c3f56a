// db_bench's benchmarks as kinds of workload.
#pragma once

#include "workload/workload_kinds.h"

namespace edgejoule::driver::db_bench {

[[nodiscard]] WorkloadKind fillrandom();
[[nodiscard]] WorkloadKind mixgraph();
[[nodiscard]] WorkloadKind readwhilewriting();

}  // namespace edgejoule::driver::db_bench
