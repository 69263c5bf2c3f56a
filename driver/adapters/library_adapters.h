// The adapters that need a library: linked with the program, or modules that are loaded when they are asked for.
#pragma once

#include <string>
#include <string_view>

#include "adapter.h"

namespace edgejoule::driver {

// Of what this build has made. adapter: nullptr, and why it is not there; why is empty where none was made.
struct LibraryAdapter {
  const AdapterInfo* adapter = nullptr;
  std::string why;
};

[[nodiscard]] LibraryAdapter library_adapter(std::string_view name);

}  // namespace edgejoule::driver
