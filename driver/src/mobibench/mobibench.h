// Mobibench's database test (Jeong et al., "AndroStep: Android Storage Performance Analysis Tool", 2013; used by the
// LUNAR paper, section 4.1): rows with an integer key and one text, and one transaction for each insert, update or
// delete.
//
// load makes the rows 0 .. recordcount - 1. run inserts further rows, updates rows that are drawn (all alike), or
// deletes rows in a random order, each once. A transaction is synchronous because the durability class is `power`
// unless the user asks for another.
#pragma once

#include "../workload_kinds.h"

namespace edgejoule::driver {

[[nodiscard]] WorkloadKind mobibench();

}  // namespace edgejoule::driver
