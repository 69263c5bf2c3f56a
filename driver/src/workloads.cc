#include "workloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "known_properties.h"
#include "workload_files.h"
#include "workload_kinds.h"

namespace edgejoule::driver {
namespace {

// Words in lines that a terminal of 100 columns does not break.
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

void print_options(const std::vector<OptionHelp>& options) {
  std::size_t width = 0;
  for (const auto& option : options) width = std::max(width, option.name.size());
  for (const auto& option : options) {
    fmt::print("  {:<{}}  {}{}\n", option.name, width, option.meaning,
               option.default_value.empty() ? "" : fmt::format(" (default: {})", option.default_value));
  }
}

}  // namespace

void list_workloads() {
  const auto* const core = &workload_kinds().front();
  for (const auto& kind : workload_kinds()) {
    fmt::print("{}: {}\n", kind.name, kind.summary);
    print_options(kind.options);
    if (&kind == core) fmt::print("  YCSB's, with YCSB's meanings and defaults:\n{}", wrapped(ycsb_names(), "    "));
  }
  fmt::print("Every workload has these too:\n{}", wrapped(names_of_every_run(), "  "));
  fmt::print("Property files that -P takes by name:\n{}", wrapped(bundled_workloads(), "  "));
}

}  // namespace edgejoule::driver
