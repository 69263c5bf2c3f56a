#include "workload_kinds.h"

#include <fmt/format.h>

#include "core_workload.h"
#include "usage_error.h"

namespace edgejoule::driver {
namespace {

// YCSB names the class; earlier releases had another package.
bool is_core(const std::string& name) { return name.empty() || name.ends_with("CoreWorkload"); }

}  // namespace

std::unique_ptr<const Workload> make_workload(const Properties& properties, Command command) {
  const auto name = properties.get("workload", "");
  if (is_core(name)) return std::make_unique<CoreWorkload>(properties, command);
  throw UsageError(
      fmt::format("{}: workload={}: expected site.ycsb.workloads.CoreWorkload", properties.origin("workload"), name));
}

}  // namespace edgejoule::driver
