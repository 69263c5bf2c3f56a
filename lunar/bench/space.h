// How much of the device a table takes while its rows change their sizes.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "engine.h"

namespace lunar_bench {

// Rows of 0 to 300 bytes, one in 17 of 2,500. Of the operations 70 % update a row and 30 % remove one and insert it
// again, always with a new size: the payload stays nearly the same.
struct Changing {
  std::int64_t rows = 16'666;
  std::int64_t operations = 10'000'000;
  std::int64_t points = 200;  // measurements, evenly over the operations
  double live = 0.6;          // lunar: the payload's part of the data zone
};

// The size that lunar's device must have for this.
std::uint64_t device_bytes(const Changing& changing);

// The device's bytes for rows and indexes (0: no limit), and points: operations so far, bytes in use, bytes of payload
// (each row's key has 8). stopped: why the engine refused the next operation; empty: it refused none.
nlohmann::json change(Engine& engine, const Changing& changing);

}  // namespace lunar_bench
