// `edgejoule-driver databases` and `edgejoule-driver workloads`.
#pragma once

namespace edgejoule::driver {

// Prints the adapters with their options, and those left out of this build with the way to have them.
void list_databases(bool as_json);

// Prints the kinds of workload with their properties, and the property files that -P takes by name.
void list_workloads();

}  // namespace edgejoule::driver
