// How the writes of a logger spread over the sectors of its device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "lunar.h"

namespace lunar_bench {

// Rows of 26 bytes and a text, in mode full each durable when it is inserted; or counters that are updated in turn.
struct Logging {
  std::uint64_t ring_rows = 0;  // 0: no ring
  std::uint32_t counters = 0;   // 0: rows are inserted
  std::size_t buffer_bytes = LUNAR_BUFFER_BYTES_MIN(512);
  lunar_index index = LUNAR_INDEX_HASH;
  lunar_mode mode = LUNAR_MODE_FULL;
  std::int64_t rows = 604'800;    // a week, one a second
  std::uint32_t text_bytes = 20;  // of the third column
  std::uint32_t sectors = 0;      // of the device, each of 512 bytes; 0: 16 MB for rings and counters, else 128 MB
};

// Sectors written a row, of these in the zones of metadata; writes a row of the sector that is written most, the zone
// that it lies in, and by how much it exceeds the mean of the written sectors and of all.
nlohmann::json wear(const Logging& logging);

}  // namespace lunar_bench
