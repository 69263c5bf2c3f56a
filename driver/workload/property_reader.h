// Reads the properties of a workload, checks their ranges and records the values in force for the start event.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/properties.h"
#include "property_help.h"

namespace edgejoule::driver {

// Throws UsageError with the property, its value and its origin.
[[noreturn]] void refuse(const Properties& properties, const std::string& key, const std::string& why);

// The help of the property that update_replaces reads.
[[nodiscard]] PropertyHelp update_property();

// Each read throws UsageError if the value is malformed or out of range.
class PropertyReader {
 public:
  // Both must outlive the reader.
  PropertyReader(const Properties& properties, std::map<std::string, std::string>& in_force)
      : properties_(properties), in_force_(in_force) {}

  std::uint64_t number(const std::string& key, std::uint64_t default_value, std::uint64_t least = 0,
                       std::uint64_t most = std::numeric_limits<std::int64_t>::max());
  double real(const std::string& key, double default_value, double least, double most);
  double proportion(const std::string& key, double default_value);
  bool flag(const std::string& key, bool default_value);
  std::string text(const std::string& key, const std::string& default_value);
  // The property `update`: whether an update may replace the record without reading it. all_fields: it writes all
  // fields of the record.
  bool update_replaces(bool all_fields);

  // Maps the property's text to the value of that name.
  template <typename Value>
  Value choice(const std::string& key, const std::string& default_value,
               const std::vector<std::pair<std::string_view, Value>>& choices) {
    const auto value = text(key, default_value);
    std::string expected;
    for (const auto& [name, meaning] : choices) {
      if (name == value) return meaning;
      expected += fmt::format("{}{}", expected.empty() ? "" : ", ", name);
    }
    refuse(properties_, key, "expected one of: " + expected);
  }

 private:
  const Properties& properties_;
  std::map<std::string, std::string>& in_force_;
};

}  // namespace edgejoule::driver
