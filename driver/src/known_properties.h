// Which property names there are: an unknown one is refused, never ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../adapters/adapter.h"
#include "properties.h"

namespace edgejoule::driver {

// Throws UsageError for an unknown name, with the nearest known one. Returns notes for the user: names in files that
// belong to another database, and YCSB properties that have no effect here.
[[nodiscard]] std::vector<std::string> check_names(const Properties& properties, const AdapterInfo& adapter);

// The nearest of the names; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace edgejoule::driver
