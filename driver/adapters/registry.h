// The adapters there are, and where each comes from: its function, and the library or module that has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

// All adapters that can be had, in alphabetical order.
[[nodiscard]] const std::vector<AdapterInfo>& adapters();

// An adapter that cannot be had: its library was absent when the driver was built (why is empty), or is so now.
struct LeftOutAdapter {
  std::string name;
  std::string install;  // the package
  std::string why;

  [[nodiscard]] std::string way_out() const;
};

[[nodiscard]] const std::vector<LeftOutAdapter>& left_out_adapters();

// nullptr when there is none of that name.
[[nodiscard]] const AdapterInfo* find_adapter(std::string_view name);

// In the adapter's folder. One whose library is absent is not in the build, and its function must not be called.
[[nodiscard]] AdapterInfo leveldb_adapter();
[[nodiscard]] AdapterInfo lmdb_adapter();
[[nodiscard]] AdapterInfo lunar_adapter();
[[nodiscard]] AdapterInfo mongodb_adapter();
[[nodiscard]] AdapterInfo noop_adapter();
[[nodiscard]] AdapterInfo postgres_adapter();
[[nodiscard]] AdapterInfo redis_adapter();
[[nodiscard]] AdapterInfo rocksdb_adapter();
[[nodiscard]] AdapterInfo sqlite_adapter();

// An adapter that needs a library. adapter: nullptr, and why it is not there; why is empty where none was made.
struct LibraryAdapter {
  const AdapterInfo* adapter = nullptr;
  std::string why;
};

// Linked with the program (linked_adapters.cc), or a module that is loaded when it is asked for (loaded_adapters.cc).
[[nodiscard]] LibraryAdapter library_adapter(std::string_view name);

}  // namespace edgejoule::driver
