// A federation as a discrete-event simulation: RocksDB's databases, processors and links in fluid form; predictor,
// input rate, server table and policy are the daemon's own code.
//
// - Each core serves what runs on a server in equal shares: threads of the application, the flush, compactions, jobs of
//   others, what serves and verifies offloaded jobs. Energy is watts by busy cores.
// - An offloaded job reads its inputs over the network, then computes; meanwhile its outputs are sent back and verified
//   at home. A link is shared equally in each direction.
// - A decision sees the server table: what each server told at its last beat, and what was placed since.
// - The application's operations and the end of whatever runs change rates; between such events all is linear.
#pragma once

#include "outcome.h"
#include "spec.h"

namespace eco::sim {

[[nodiscard]] Outcome simulate(const Spec& spec, const Policy& policy, std::uint64_t seed);

}  // namespace eco::sim
