// A power cut at a position of a block trace, and the disk it leaves.
//
// What was written before the last flush that had completed is on the disk. Of each later write that was done before
// the cut, the disk may have kept all, some or none: no order holds between two flushes. A cut draws from its own
// random numbers, made of the seed and its own number: on the same trace the same cut leaves the same disk.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "block_trace.h"

namespace edgejoule::driver {

enum class Survival : std::uint8_t {
  none,     // no unflushed write
  all,      // every one
  prefix,   // the first ones
  blocks,   // some blocks of 4096 bytes of them
  sectors,  // some sectors of 512 bytes of them: torn blocks
};

[[nodiscard]] std::string_view survival_name(Survival survival);

// What the disk does with a flush. `ignored` is the storage that lies: it confirms a flush and still holds the last
// writes in a volatile cache; the order of writes is kept, so that file systems come back, only older.
enum class Flushes : std::uint8_t { honoured, ignored };

struct Cut {
  std::uint64_t number;
  std::uint64_t position;
  Survival survival;
  std::uint64_t seed;
  std::uint64_t signature;  // equal for two cuts at the same position that keep the same writes
};

struct Positions {
  std::uint64_t begin;
  std::uint64_t end;  // exclusive
};

// Where to cut. The moments at which something is most likely to be lost are preferred: acknowledgements, flushes and
// the database's own work.
struct CutPlan {
  Positions range;                              // cuts are at range.begin or later, before range.end
  std::vector<std::uint64_t> acknowledgements;  // positions
  std::vector<Positions> background;            // flushes, compactions, checkpoints of the database
  Flushes flushes = Flushes::honoured;
};

// At most `count` cuts, no two the same; fewer when the trace has not more.
[[nodiscard]] std::vector<Cut> choose_cuts(const BlockTrace& trace, const CutPlan& plan, std::uint64_t count,
                                           std::uint64_t seed);

// Number of entries that are on the disk for sure after a cut at `position`.
[[nodiscard]] std::uint64_t durable_entries(const BlockTrace& trace, std::uint64_t position, Flushes flushes);

// Turns the image as it was at position 0 into what the cut leaves.
void cut_image(const BlockTrace& trace, const Cut& cut, Flushes flushes, std::span<std::byte> image);

}  // namespace edgejoule::driver
