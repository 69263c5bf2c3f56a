// A database that keeps nothing: what a run on it costs is what the driver costs.
#pragma once

#include "../adapter.h"

namespace edgejoule::driver {

[[nodiscard]] AdapterInfo noop_adapter();

}  // namespace edgejoule::driver
