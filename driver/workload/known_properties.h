// The known property names. An unknown name is refused, never ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"
#include "contract/properties.h"
#include "property_help.h"

namespace edgejoule::driver {

// The properties common to all workloads.
[[nodiscard]] const std::vector<PropertyHelp>& properties_of_every_run();

[[nodiscard]] std::vector<std::string> names_of(const std::vector<PropertyHelp>& properties);

// A property of YCSB that changes how YCSB works or reports, not the operations on the database.
struct WithoutEffect {
  std::string name;  // a name that ends with a dot stands for all names that begin with it
  std::string why;   // the reason why it has no effect here
};
[[nodiscard]] const std::vector<WithoutEffect>& properties_without_effect();

// The values of YCSB's measurementtype.
[[nodiscard]] const std::vector<std::string>& measurement_types();

// The databases of the driver in alphabetical order, whether in this build or not.
[[nodiscard]] std::vector<std::string> database_names();

// Throws UsageError for an unknown name, and suggests the nearest known one. Returns notes for the user: names in files
// that belong to another database, and YCSB properties without effect here.
[[nodiscard]] std::vector<std::string> check_names(const Properties& properties, const AdapterInfo& adapter);

// The name nearest to `name`; empty if none is close.
[[nodiscard]] std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace edgejoule::driver
