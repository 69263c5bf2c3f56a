// A discrete-event simulation of a federation. RocksDB's databases, processors and links are fluid models; predictor,
// input rate, server table and policies are the daemon's own code.
//
// - Everything that runs on a server shares its cores equally: application threads, the flush, compactions, guest jobs,
//   and the serving and verifying of offloaded jobs. Energy is power by busy cores.
// - An offloaded job reads its inputs over the network, then computes, while its outputs are sent back and verified at
//   home. Transfers share a link equally in each direction.
// - A decision uses the server table: each server's last beat, and the placements since.
// - Rates change with the application's operations and at the end of anything that runs; between events everything is
//   linear.
#pragma once

#include "outcome.h"
#include "spec.h"

namespace eco::sim {

[[nodiscard]] Outcome simulate(const Spec& spec, const Policy& policy, std::uint64_t seed);

}  // namespace eco::sim
