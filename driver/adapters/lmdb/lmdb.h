// LMDB in the driver's process. See README.md for what an operation does and what durability is asked for.
#pragma once

#include "../adapter.h"

namespace edgejoule::driver {

[[nodiscard]] AdapterInfo lmdb_adapter();

}  // namespace edgejoule::driver
