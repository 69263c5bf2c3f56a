// MongoDB through libmongoc.
#pragma once

#include "../adapter.h"

namespace edgejoule::driver {

[[nodiscard]] AdapterInfo mongodb_adapter();

}  // namespace edgejoule::driver
