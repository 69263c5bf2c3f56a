// The benchmarks of LevelDB's db_bench_sqlite3 and of its port sqlite-bench (used by the LUNAR paper, section 4.1),
// whose names the property sqlite-bench.benchmark takes: keys of 16 digits and values of 100 bytes, both blobs.
//
// load writes the keys 0 .. n - 1, each once and in order, in batches; run is the benchmark. One that fills begins
// without a database.
#pragma once

#include "../workload_kinds.h"

namespace edgejoule::driver {

[[nodiscard]] WorkloadKind sqlite_bench();

}  // namespace edgejoule::driver
