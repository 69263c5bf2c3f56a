#include "listings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "adapters/registry.h"
#include "contract/adapter.h"
#include "workload/known_properties.h"
#include "workload/workload_kinds.h"
#include "workload_files.h"

namespace edgejoule::driver {
namespace {

using Json = nlohmann::ordered_json;

// Prints options of databases or properties of workloads.
template <typename Help>
void print_options(const std::vector<Help>& options) {
  std::size_t width = 0;
  for (const auto& option : options) width = std::max(width, option.name.size());
  for (const auto& option : options) {
    fmt::print("  {:<{}}  {}{}\n", option.name, width, option.meaning,
               option.default_value.empty() ? "" : fmt::format(" (default: {})", option.default_value));
  }
}

void print_json() {
  Json list = Json::array();
  for (const auto& adapter : adapters()) {
    Json options = Json::array();
    for (const auto& option : adapter.options) {
      options.push_back({{"name", option.name}, {"meaning", option.meaning}, {"default", option.default_value}});
    }
    list.push_back({{"name", adapter.name},
                    {"version", adapter.make()->version()},
                    {"summary", adapter.summary},
                    {"built_in", true},
                    {"options", options}});
  }
  for (const auto& absent : left_out_adapters()) {
    list.push_back(
        {{"name", absent.name}, {"built_in", false}, {"install", absent.install}, {"way_out", absent.way_out()}});
  }
  fmt::print("{}\n", list.dump(2));
}

// Wraps the items into lines that fit a terminal of 100 columns.
std::string wrapped(const std::vector<std::string>& words, const std::string& indent) {
  constexpr std::size_t columns = 100;
  std::string text;
  std::string line = indent;
  for (const auto& word : words) {
    if (line.size() > indent.size() && line.size() + 1 + word.size() > columns) {
      text += line + "\n";
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + word;
  }
  return text + line + "\n";
}

}  // namespace

void list_databases(bool as_json) {
  if (as_json) return print_json();
  for (const auto& adapter : adapters()) {
    fmt::print("{}: {}\n", adapter.name, adapter.summary);
    print_options(adapter.options);
  }
  for (const auto& absent : left_out_adapters()) {
    fmt::print("{}: {}\n", absent.name, absent.way_out());
  }
}

void list_workloads() {
  for (const auto& kind : workload_kinds()) {
    fmt::print("{}: {}\n", kind.name, kind.summary);
    print_options(kind.properties);
    if (kind.ycsb_properties.empty()) continue;
    fmt::print("  YCSB's properties, with YCSB's meanings and defaults:\n{}",
               wrapped(names_of(kind.ycsb_properties), "    "));
  }
  fmt::print("Properties of every workload:\n{}", wrapped(names_of(properties_of_every_run()), "  "));
  fmt::print("Property files that -P accepts by name:\n{}", wrapped(bundled_workloads(), "  "));
}

}  // namespace edgejoule::driver
