// YCSB's properties of the closing report.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "contract/properties.h"

namespace edgejoule::driver {

enum class MeasuredInterval : std::uint8_t { op, intended, both };  // measurement.interval
enum class ReportFormat : std::uint8_t { text, json, json_array };  // exporter

struct ReportOptions {
  MeasuredInterval measured;
  std::vector<double> percentiles;
  ReportFormat format;
  std::string file;                    // empty: standard output
  bool each_error_apart;               // a separate latency line for each failed status
  std::set<std::string> errors_apart;  // only for these statuses
};

// Throws UsageError.
[[nodiscard]] ReportOptions report_options(const Properties& properties);

}  // namespace edgejoule::driver
