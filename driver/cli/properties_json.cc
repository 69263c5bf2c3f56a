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
  fmt::print("{{\n  \"every_run\": {},\n  \"kinds\": {{\n{}\n  }}\n}}\n", json_of(properties_of_every_run(), "  "),
             fmt::join(kinds, ",\n"));
}

}  // namespace
}  // namespace edgejoule::driver

int main() { edgejoule::driver::print(); }
