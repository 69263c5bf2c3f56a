#include "workload_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "system/usage_error.h"
#include "workload/core/core_kind.h"
#include "workload/db_bench/kinds.h"
#include "workload/mobibench/mobibench_workload.h"
#include "workload/replay/replay_workload.h"
#include "workload/sqlite_bench/sqlite_bench_workload.h"

namespace edgejoule::driver {
const std::vector<WorkloadKind>& workload_kinds() {
  static const std::vector<WorkloadKind> kinds{
      core(),   db_bench::fillrandom(), db_bench::mixgraph(), db_bench::readwhilewriting(), mobibench(),
      replay(), sqlite_bench()};
  return kinds;
}

const WorkloadKind& workload_kind(const Properties& properties) {
  const auto name = properties.get("workload", "");
  // YCSB names the class. Earlier releases of YCSB used another package.
  if (!properties.has("workload") || name.ends_with("CoreWorkload")) return workload_kinds().front();
  const auto found = std::ranges::find(workload_kinds(), name, &WorkloadKind::name);
  if (found != workload_kinds().end()) return *found;
  std::vector<std::string> names;
  for (const auto& kind : workload_kinds()) names.push_back(kind.name);
  throw UsageError(fmt::format("{}: workload={}: unknown; expected one of: {}", properties.origin("workload"), name,
                               fmt::join(names, ", ")));
}

std::vector<PropertyHelp> properties_of(const WorkloadKind& kind) {
  auto all = kind.properties;
  all.insert(all.end(), kind.ycsb_properties.begin(), kind.ycsb_properties.end());
  return all;
}

}  // namespace edgejoule::driver
