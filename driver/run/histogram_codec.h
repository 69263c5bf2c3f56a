// The interchange form of HdrHistogram: V2 encoding, zlib, base64. HdrHistogram.decode of Python's hdrhistogram, Java's
// and C's readers take it.
#pragma once

#include <string>

#include "histogram.h"

namespace edgejoule::driver {

[[nodiscard]] std::string encode(const Histogram& histogram);

}  // namespace edgejoule::driver
