// Tests whether flushed data survives a power cut. One program writes, flushes and records the flushes outside the
// device; the user cuts the power; a second program checks the device.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <random>
#include <vector>

#include "finding.h"
#include "lunar.h"

namespace bdtest {

// Both phases make the same series of writes of it.
struct Cut {
  std::uint32_t seed = 1;
  std::uint32_t sector_bytes = 512;
  std::uint32_t area_sectors = 0;  // from sector 0
  bool operator==(const Cut&) const = default;
};

struct Request {
  std::uint32_t sector, count;
  std::uint64_t version;
};

// The requests of one round, which ends with a flush.
std::vector<Request> requests_of_round(const Cut& cut, std::uint64_t round);

// Writes rounds until `go_on` returns false or the device fails; calls `flushed` with each round after its flush.
// Returns the number of flushed rounds. Throws std::runtime_error if the first round cannot be written.
std::uint64_t write_rounds(const lunar_config& device, const Cut& cut, const std::function<bool()>& go_on,
                           const std::function<void(std::uint64_t)>& flushed);

// flushed: the last recorded round.
Findings verify_rounds(const lunar_config& device, const Cut& cut, std::uint64_t flushed);

// The note: a line about the cut, then the number of each flushed round.
void write_note_head(std::ostream& note, const Cut& cut);
struct Note {
  Cut cut;
  std::uint64_t flushed;
};
// Throws std::runtime_error, which names the line.
Note read_note(std::istream& note);

}  // namespace bdtest
