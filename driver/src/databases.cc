#include "databases.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "../adapters/adapter.h"

namespace edgejoule::driver {
namespace {

using Json = nlohmann::ordered_json;

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

void print_adapter(const AdapterInfo& adapter) {
  fmt::print("{}: {}\n", adapter.name, adapter.summary);
  std::size_t width = 0;
  for (const auto& option : adapter.options) width = std::max(width, option.name.size());
  for (const auto& option : adapter.options) {
    fmt::print("  {:<{}}  {}{}\n", option.name, width, option.meaning,
               option.default_value.empty() ? "" : fmt::format(" (default: {})", option.default_value));
  }
}

}  // namespace

void list_databases(bool as_json) {
  if (as_json) return print_json();
  for (const auto& adapter : adapters()) print_adapter(adapter);
  for (const auto& absent : left_out_adapters()) {
    fmt::print("{}: {}\n", absent.name, absent.way_out());
  }
}

}  // namespace edgejoule::driver
