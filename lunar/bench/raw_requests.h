// The device alone under as many requests as a database made: what part of a slowdown is the device's own.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "key_chooser.h"

namespace lunar_bench {

struct RawRequests {
  std::string path;                                          // a device; what is on it stays as it is
  std::uint64_t span_bytes = 0;                              // from its beginning
  double reads_per_operation = 0, writes_per_operation = 0;  // of a sector of 512 bytes each
  std::int64_t operations = 0;
};

// Seconds. A key's sectors are scattered over the span; a write puts back what the read before it got.
double raw_requests_s(const RawRequests& requests, const KeyChooser& key, std::mt19937_64& random);

}  // namespace lunar_bench
