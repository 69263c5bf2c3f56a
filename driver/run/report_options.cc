#include "report_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

[[noreturn]] void refuse(const Properties& properties, const std::string& key, const std::string& expected) {
  throw UsageError(
      fmt::format("{}: {}={}: expected {}", properties.origin(key), key, properties.get(key, ""), expected));
}

std::vector<std::string> items_of(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) items.push_back(item);
  return items;
}

MeasuredInterval measured_of(const Properties& properties) {
  const auto name = properties.get("measurement.interval", "op");
  if (name == "op") return MeasuredInterval::op;
  if (name == "intended") return MeasuredInterval::intended;
  if (name == "both") return MeasuredInterval::both;
  refuse(properties, "measurement.interval", "one of: op, intended, both");
}

std::vector<double> percentiles_of(const Properties& properties) {
  std::vector<double> percentiles;
  for (const auto& item : items_of(properties.get("hdrhistogram.percentiles", "95,99"))) {
    const std::string_view digits = std::string_view(item).substr(std::min(item.find_first_not_of(' '), item.size()));
    double percent = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
    if (failure != std::errc{} || end != digits.data() + digits.size() || !(percent >= 0 && percent <= 100)) {
      refuse(properties, "hdrhistogram.percentiles", "numbers from 0 to 100, separated by commas");
    }
    percentiles.push_back(percent);
  }
  return percentiles;
}

// YCSB names the exporter's class. Earlier releases of YCSB used another package.
ReportFormat format_of(const Properties& properties) {
  const auto name = properties.get("exporter", "site.ycsb.measurements.exporter.TextMeasurementsExporter");
  const std::string_view simple = std::string_view(name).substr(name.rfind('.') + 1);
  if (simple == "TextMeasurementsExporter") return ReportFormat::text;
  if (simple == "JSONMeasurementsExporter") return ReportFormat::json;
  if (simple == "JSONArrayMeasurementsExporter") return ReportFormat::json_array;
  refuse(properties, "exporter",
         "TextMeasurementsExporter, JSONMeasurementsExporter or JSONArrayMeasurementsExporter of "
         "site.ycsb.measurements.exporter");
}

// Creates the file before the run, so that a run does not end with a report that cannot be written.
std::string file_of(const Properties& properties) {
  const auto file = properties.get("exportfile", "");
  if (!file.empty() && !std::ofstream(file, std::ios::app)) {
    refuse(properties, "exportfile", fmt::format("a file that can be written: {}", std::strerror(errno)));
  }
  return file;
}

}  // namespace

ReportOptions report_options(const Properties& properties) {
  const auto apart = items_of(properties.get("latencytrackederrors", ""));
  return {measured_of(properties),
          percentiles_of(properties),
          format_of(properties),
          file_of(properties),
          properties.get_bool("reportlatencyforeacherror", false),
          {apart.begin(), apart.end()}};
}

}  // namespace edgejoule::driver
