// Reads files at fixed deadlines and returns the readings on request.
#pragma once

#include <cstdint>
#include <vector>

#include "watched_file.h"

namespace edgejoule::sampler {

struct Order {
  std::int64_t interval_ns = 0;  // above 0
  std::vector<FileOrder> files;
};

// Runs until the end of `requests`. Writes frames (reading.h) to `answers`. Returns 0, or the errno of a failed pipe.
[[nodiscard]] int sample(const Order& order, int requests, int answers);

}  // namespace edgejoule::sampler
