// `edgejoule-driver databases`.
#pragma once

namespace edgejoule::driver {

// Prints the adapters with their options, and those left out of this build with the way to have them.
void list_databases(bool as_json);

}  // namespace edgejoule::driver
