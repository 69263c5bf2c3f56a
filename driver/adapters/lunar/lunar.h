// lunar in the driver's process: tables in an image or on a raw block device, without a file system (README.md).
#pragma once

#include "../adapter.h"

namespace edgejoule::driver {

[[nodiscard]] AdapterInfo lunar_adapter();

}  // namespace edgejoule::driver
