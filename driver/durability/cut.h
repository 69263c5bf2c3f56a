// A power cut at a position of a block trace, and the disk contents after it.
//
// Everything written before the last completed flush is on the disk. Of each later write before the cut, the disk may
// have stored all, a part or nothing, because writes between two flushes have no order. A cut takes its random numbers
// from the seed and its own number, so the same cut of the same trace gives the same disk.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "block_trace.h"

namespace edgejoule::driver {

enum class Survival : std::uint8_t {
  none,     // no unflushed write
  all,      // every unflushed write
  prefix,   // the first unflushed writes
  blocks,   // some of their blocks of 4096 bytes
  sectors,  // some of their sectors of 512 bytes (torn blocks)
};

[[nodiscard]] std::string_view survival_name(Survival survival);

// How the disk treats a flush. `ignored` models storage that confirms a flush while the last writes are still in a
// volatile cache. It preserves the order of writes, so that file systems are consistent, but older.
enum class Flushes : std::uint8_t { honoured, ignored };

struct Cut {
  std::uint64_t number;
  std::uint64_t position;
  Survival survival;
  std::uint64_t seed;
  std::uint64_t signature;  // equal for cuts at one position that preserve the same writes
};

struct Positions {
  std::uint64_t begin;
  std::uint64_t end;  // exclusive
};

// Where to cut. Moments with a high risk of loss are preferred: acknowledgements, flushes and background work of the
// database.
struct CutPlan {
  Positions range;                              // cuts are at or after range.begin and before range.end
  std::vector<std::uint64_t> acknowledgements;  // positions
  std::vector<Positions> background;            // flushes, compactions and checkpoints of the database
  Flushes flushes = Flushes::honoured;
};

// Chooses at most `count` different cuts; fewer if the trace does not allow more.
[[nodiscard]] std::vector<Cut> choose_cuts(const BlockTrace& trace, const CutPlan& plan, std::uint64_t count,
                                           std::uint64_t seed);

// Number of entries that are certainly on the disk after a cut at `position`.
[[nodiscard]] std::uint64_t durable_entries(const BlockTrace& trace, std::uint64_t position, Flushes flushes);

// Changes the image from its contents at position 0 to its contents after the cut.
void cut_image(const BlockTrace& trace, const Cut& cut, Flushes flushes, std::span<std::byte> image);

}  // namespace edgejoule::driver
