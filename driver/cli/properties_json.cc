// Prints schemas/properties.json: the properties of the driver's workloads, for other languages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workload/known_properties.h"
#include "workload/workload_kinds.h"

namespace edgejoule::driver {
namespace {

using Json = nlohmann::ordered_json;

std::string json_of(const PropertyHelp& property) {
  static constexpr const char* types[] = {"count", "number", "real", "share", "flag", "text"};
  Json json{{"name", property.name},
            {"type", types[static_cast<std::size_t>(property.type)]},
            {"default", property.default_value},
            {"meaning", property.meaning}};
  if (!property.choices.empty()) json["choices"] = property.choices;
  return json.dump();
}

// Prints one property per line, so that a change is one line in a diff.
std::string json_of(const std::vector<PropertyHelp>& properties, const std::string& indent) {
  std::vector<std::string> lines;
  for (const auto& property : properties) lines.push_back(indent + "  " + json_of(property));
  return fmt::format("[\n{}\n{}]", fmt::join(lines, ",\n"), indent);
}

void print() {
  std::vector<std::string> kinds;
  for (const auto& kind : workload_kinds()) {
    kinds.push_back(fmt::format("    {}: {}", Json(kind.name).dump(), json_of(properties_of(kind), "    ")));
  }
  std::vector<std::string> without_effect;
  for (const auto& [name, why] : properties_without_effect()) {
    without_effect.push_back("    " + Json{{"name", name}, {"why", why}}.dump());
  }
  fmt::print("{{\n  \"every_run\": {},\n", json_of(properties_of_every_run(), "  "));
  fmt::print("  \"without_effect\": [\n{}\n  ],\n", fmt::join(without_effect, ",\n"));
  fmt::print("  \"measurement_types\": {},\n", Json(measurement_types()).dump());
  fmt::print("  \"databases\": {},\n", Json(database_names()).dump());
  fmt::print("  \"kinds\": {{\n{}\n  }}\n}}\n", fmt::join(kinds, ",\n"));
}

}  // namespace
}  // namespace edgejoule::driver

int main() { edgejoule::driver::print(); }
