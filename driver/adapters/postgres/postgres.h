// PostgreSQL through libpq, and Citus on it.
#pragma once

#include "../adapter.h"

namespace edgejoule::driver {

[[nodiscard]] AdapterInfo postgres_adapter();

}  // namespace edgejoule::driver
