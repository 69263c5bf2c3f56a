// Whether a device keeps what it has confirmed to have flushed when the power goes. One program writes and notes,
// outside the device, what was flushed; somebody pulls the plug; another looks at what is there.
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

// Writes round after round until `go_on` says no or the device fails; tells `flushed` each round after its flush.
// The rounds flushed. Throws std::runtime_error when the first round cannot be written.
std::uint64_t write_rounds(const lunar_config& device, const Cut& cut, const std::function<bool()>& go_on,
                           const std::function<void(std::uint64_t)>& flushed);

// flushed: the last round that was noted.
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
