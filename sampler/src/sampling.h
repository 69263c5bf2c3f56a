// Reads files at their deadlines and hands the readings over when it is asked.
#pragma once

#include <cstdint>
#include <vector>

#include "watched_file.h"

namespace edgejoule::sampler {

struct Order {
  std::int64_t interval_ns = 0;  // above 0
  std::vector<FileOrder> files;
};

// Until the end of `requests`; frames (reading.h) go to `answers`. Returns 0, or the errno of a pipe that failed.
[[nodiscard]] int sample(const Order& order, int requests, int answers);

}  // namespace edgejoule::sampler
