// Sectors that say which they are, who wrote them and when, and whose every byte follows from that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace bdtest {

struct Stamp {
  std::uint32_t run;      // of the program: nothing of an earlier one is taken for this one's
  std::uint32_t sector;   // where it was written to
  std::uint64_t version;  // from 1
  bool operator==(const Stamp&) const = default;
};

void write_stamp(const Stamp& stamp, std::uint8_t* sector, std::size_t sector_bytes);
// What the sector says it is, when it begins like a stamp; whole: every byte is as it must be.
struct Seen {
  Stamp stamp;
  bool whole;
};
std::optional<Seen> read_stamp(const std::uint8_t* sector, std::size_t sector_bytes);

}  // namespace bdtest
