// `edgejoule-driver workloads`.
#pragma once

namespace edgejoule::driver {

// Prints the kinds of workload with their properties, and the property files that -P takes by name.
void list_workloads();

}  // namespace edgejoule::driver
