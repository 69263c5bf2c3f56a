// Redis through hiredis.
#pragma once

#include "../adapter.h"

namespace edgejoule::driver {

[[nodiscard]] AdapterInfo redis_adapter();

}  // namespace edgejoule::driver
