// Names of databases as Java YCSB knows them: classes of its bindings, and the short names of its launcher.
#pragma once

#include <string>
#include <string_view>

namespace edgejoule::driver {

// The adapter that does what the binding does, "" when there is none; built in or not.
[[nodiscard]] std::string_view adapter_for_binding(std::string_view binding);

// Whether the name is that of a Java class of YCSB.
[[nodiscard]] bool is_binding_class(std::string_view name);

}  // namespace edgejoule::driver
