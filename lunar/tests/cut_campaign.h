// A campaign of power cuts on worlds of one kind: the power goes before the writes and the flushes of a workload, any
// subset of what was not flushed survives, and it goes again during the recovery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "world.h"

namespace lunar_test {

struct Kind {
  const char* name;
  std::function<Options(std::uint64_t seed)> options;  // of the world with that seed
  std::size_t share = 1;                               // of all cuts, beside the other kinds' shares
  std::uint32_t random_cuts_at_write = 4;
  // At each flush: so many cuts that lose one sector, so many that lose a few, and so many that lose a random subset.
  std::uint32_t one_lost_at_flush = 2, few_lost_at_flush = 2, random_cuts_at_flush = 4;
  std::uint32_t recovery_cuts_of_4 = 1;  // recoveries in which the power goes again
  bool checks = false;                   // lunar_check goes over the volume after each cut
};

struct Tally {
  std::size_t cuts = 0;      // all that were tried
  std::size_t distinct = 0;  // by content after the cut, place in the workload and surviving subset
  // Of the distinct ones: those after which one sector or a few were missing, and those during a recovery.
  std::size_t one_lost = 0, few_lost = 0, in_recovery = 0;
  std::size_t worlds = 0;
  std::uint32_t spills_max = 0;  // of one operation or transaction
  double cpu_s = 0;
  std::string not_permitted;  // the first outcome that the mode does not permit; empty: there was none
};

// Cuts in worlds with the seeds from seed on, until so many are distinct or one outcome is not permitted.
Tally run_campaign(const Kind& kind, std::uint64_t seed, std::size_t wanted);

}  // namespace lunar_test
