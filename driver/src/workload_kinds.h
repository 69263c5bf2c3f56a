// The kinds of workload built in. A further one is one line in workload_kinds.cc.
#pragma once

#include <memory>

#include "properties.h"
#include "workload.h"

namespace edgejoule::driver {

// Of the kind that the property `workload` names; YCSB's core workload when it names none. Throws UsageError.
[[nodiscard]] std::unique_ptr<const Workload> make_workload(const Properties& properties, Command command);

}  // namespace edgejoule::driver
