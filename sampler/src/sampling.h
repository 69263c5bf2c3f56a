// Reads files at their deadlines and hands the readings over when it is asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgejoule::sampler {

struct Order {
  std::int64_t interval_ns = 0;  // above 0
  std::vector<std::string> paths;
};

// Until the end of `requests`; frames (reading.h) go to `answers`. Returns 0, or the errno of a pipe that failed.
[[nodiscard]] int sample(const Order& order, int requests, int answers);

}  // namespace edgejoule::sampler
