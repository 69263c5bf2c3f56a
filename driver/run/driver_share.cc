#include "driver_share.h"

#include <algorithm>

#include "adapters/registry.h"
#include "client.h"
#include "crew.h"
#include "system/run_failure.h"
#include "system/usage.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t operations_most = 200'000;

}  // namespace

DriverShare measure_driver_share(const Invocation& invocation, std::uint64_t operations_max) {
  const auto database = find_adapter("noop")->make();
  database->open(invocation.properties, invocation.durability, true, {});
  const auto work = invocation.workload->begin(invocation.seed, invocation.threads, false);
  work->unpaced = true;
  work->keeps_nothing = true;
  Crew crew(*work, *database);
  crew.prepare(std::min(operations_max, operations_most), nullptr);
  const auto begin_ns = process_cpu_ns();
  static_cast<void>(crew.start());
  static_cast<void>(crew.join());
  const auto cpu_ns = process_cpu_ns() - begin_ns;
  const auto operations = crew.outcome().done();
  static_cast<void>(crew.close_sessions());
  if (const auto failure = database->close(); !failure.empty()) throw DatabaseError(failure);
  return {operations, static_cast<double>(cpu_ns) / static_cast<double>(std::max<std::uint64_t>(operations, 1))};
}

}  // namespace edgejoule::driver
