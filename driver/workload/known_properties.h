// Which property names there are: an unknown one is refused, never ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"
#include "contract/properties.h"

namespace edgejoule::driver {

// Names that every run knows, whatever its workload.
[[nodiscard]] const std::vector<std::string>& names_of_every_run();

// Names that YCSB's core workload knows beside them, as YCSB spells them.
[[nodiscard]] const std::vector<std::string>& ycsb_names();

// Throws UsageError for an unknown name, with the nearest known one. Returns notes for the user: names in files that
// belong to another database, and YCSB properties that have no effect here.
[[nodiscard]] std::vector<std::string> check_names(const Properties& properties, const AdapterInfo& adapter);

// The nearest of the names; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace edgejoule::driver
