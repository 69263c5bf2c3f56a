// The adapters, and where each one comes from: its function, and its library or module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

// All available adapters in alphabetical order.
[[nodiscard]] const std::vector<AdapterInfo>& adapters();

// An adapter that is not available: its library was missing when the driver was built (`why` is empty) or is missing
// now.
struct LeftOutAdapter {
  std::string name;
  std::string install;  // the package to install
  std::string why;

  [[nodiscard]] std::string way_out() const;
};

[[nodiscard]] const std::vector<LeftOutAdapter>& left_out_adapters();

// nullptr if there is none of that name.
[[nodiscard]] const AdapterInfo* find_adapter(std::string_view name);

// Defined in the adapter's folder. If the library is missing, the function is not in the build and must not be called.
[[nodiscard]] AdapterInfo leveldb_adapter();
[[nodiscard]] AdapterInfo lmdb_adapter();
[[nodiscard]] AdapterInfo lunar_adapter();
[[nodiscard]] AdapterInfo mongodb_adapter();
[[nodiscard]] AdapterInfo noop_adapter();
[[nodiscard]] AdapterInfo postgres_adapter();
[[nodiscard]] AdapterInfo redis_adapter();
[[nodiscard]] AdapterInfo rocksdb_adapter();
[[nodiscard]] AdapterInfo sqlite_adapter();

// An adapter that needs a library. If `adapter` is nullptr, `why` is the reason; it is empty if the adapter was not
// built.
struct LibraryAdapter {
  const AdapterInfo* adapter = nullptr;
  std::string why;
};

// Returns an adapter linked into the program (linked_adapters.cc) or loads its module on demand (loaded_adapters.cc).
[[nodiscard]] LibraryAdapter library_adapter(std::string_view name);

}  // namespace edgejoule::driver
