// The closing report in the format of YCSB 0.17.0, so that parsers of YCSB's output read it.
#pragma once

#include <cstdint>
#include <string>

#include "measurements.h"
#include "report_options.h"

namespace edgejoule::driver {

[[nodiscard]] std::string ycsb_report(const ReportOptions& options, const Measurements& measurements,
                                      const Histogram& cleanup, std::uint64_t operations, std::uint64_t active_ns);

// Formats a double as Java does: 0.001, 1234567.0, 1.0E7, NaN.
[[nodiscard]] std::string java_number(double value);

}  // namespace edgejoule::driver
