// `edgejoule-driver databases` and `edgejoule-driver workloads`.
#pragma once

namespace edgejoule::driver {

// Prints the adapters with their options, and the adapters missing from this build with the way to add them.
void list_databases(bool as_json);

// Prints the kinds of workload with their properties, and the property files that -P accepts by name.
void list_workloads();

}  // namespace edgejoule::driver
