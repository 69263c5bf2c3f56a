// Which property names there are: an unknown one is refused, never ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"
#include "contract/properties.h"
#include "property_help.h"

namespace edgejoule::driver {

// What every run knows, whatever its workload.
[[nodiscard]] const std::vector<PropertyHelp>& properties_of_every_run();

[[nodiscard]] std::vector<std::string> names_of(const std::vector<PropertyHelp>& properties);

// Throws UsageError for an unknown name, with the nearest known one. Returns notes for the user: names in files that
// belong to another database, and YCSB properties that have no effect here.
[[nodiscard]] std::vector<std::string> check_names(const Properties& properties, const AdapterInfo& adapter);

// The nearest of the names; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace edgejoule::driver
