// A campaign of power cuts on worlds of one kind: before the writes and flushes of a workload, with any subset of the
// unflushed sectors surviving, and during the recovery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "world.h"

namespace lunar_test {

struct Kind {
  const char* name;
  std::function<Options(std::uint64_t seed)> options;  // of the world with this seed
  std::size_t share = 1;                               // weight of the kind in the number of cuts
  std::uint32_t random_cuts_at_write = 4;
  // Number of cuts at each flush that lose one sector, a few sectors, a random subset.
  std::uint32_t one_lost_at_flush = 2, few_lost_at_flush = 2, random_cuts_at_flush = 4;
  std::uint32_t recovery_cuts_of_4 = 1;  // share of recoveries with another cut, in quarters
  bool checks = false;                   // runs lunar_check after each cut
};

struct Tally {
  std::size_t cuts = 0;      // all
  std::size_t distinct = 0;  // by content after the cut, place in the workload and surviving subset
  // Distinct cuts that lost one sector, that lost a few, and those during a recovery.
  std::size_t one_lost = 0, few_lost = 0, in_recovery = 0;
  std::size_t worlds = 0;
  std::uint32_t spills_max = 0;  // in one operation or transaction
  double cpu_s = 0;
  std::string not_permitted;  // the first outcome that the mode does not permit; empty: none
};

// Cuts in worlds with seeds from `seed` on, until `wanted` cuts are distinct or one outcome is not permitted.
Tally run_campaign(const Kind& kind, std::uint64_t seed, std::size_t wanted);

}  // namespace lunar_test
