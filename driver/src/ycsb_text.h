// The closing report in YCSB 0.17's own format, so that what reads YCSB's output reads the driver's.
#pragma once

#include <string>

#include "invocation.h"
#include "measurements.h"

namespace edgejoule::driver {

[[nodiscard]] std::string ycsb_text(const Invocation& invocation, const Measurements& measurements,
                                    const Histogram& cleanup, std::uint64_t operations, std::uint64_t active_ns);

}  // namespace edgejoule::driver
