// Replays a recorded trace (trace.h) on any database, at its own times, faster, or as fast as the database answers.
//
// run streams the trace: every client reads the file and takes the lines whose keys fall to it by their hash, so that
// the operations of one key keep their order, and memory does not grow with the trace. load streams it too and makes
// the keys that are read, updated, deleted or scanned from before the trace inserts them; it remembers which keys it
// has seen.
//
// Rows have `fieldcount` fields. What a trace does not say is the replay's: the values (random bytes), and which field
// an update writes.
#pragma once

#include "../workload_kinds.h"

namespace edgejoule::driver {

[[nodiscard]] WorkloadKind replay();

}  // namespace edgejoule::driver
