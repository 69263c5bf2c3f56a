// The interchange format of HdrHistogram: V2 encoding, compressed by zlib, as base64. The HdrHistogram libraries of
// Java, C and Python read it.
#pragma once

#include <string>

#include "histogram.h"

namespace edgejoule::driver {

[[nodiscard]] std::string encode(const Histogram& histogram);

}  // namespace edgejoule::driver
