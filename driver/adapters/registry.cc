// The list of adapters. To add one with a library, add a line here and in registry.h, in linked_adapters.cc and in
// CMakeLists.txt.
#include "registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace edgejoule::driver {
namespace {

struct Known {
  std::string_view name;
  std::string_view install;
};

constexpr std::array with_library = {Known{"leveldb", "libleveldb-dev"}, Known{"lmdb", "liblmdb-dev"},
                                     Known{"mongodb", "libmongoc-dev"},  Known{"postgres", "libpq-dev"},
                                     Known{"redis", "libhiredis-dev"},   Known{"rocksdb", "librocksdb-dev"},
                                     Known{"sqlite", "libsqlite3-dev"}};

const std::array<AdapterInfo, 2>& without_library() {
  static const std::array all = {lunar_adapter(), noop_adapter()};
  return all;
}

}  // namespace

const std::vector<AdapterInfo>& adapters() {
  static const std::vector<AdapterInfo> all = [] {
    std::vector<AdapterInfo> found(without_library().begin(), without_library().end());
    for (const auto& known : with_library) {
      if (const auto* adapter = library_adapter(known.name).adapter) found.push_back(*adapter);
    }
    std::ranges::sort(found, {}, &AdapterInfo::name);
    return found;
  }();
  return all;
}

const std::vector<LeftOutAdapter>& left_out_adapters() {
  static const std::vector<LeftOutAdapter> all = [] {
    std::vector<LeftOutAdapter> found;
    for (const auto& known : with_library) {
      const auto asked = library_adapter(known.name);
      if (asked.adapter == nullptr) found.push_back({std::string(known.name), std::string(known.install), asked.why});
    }
    return found;
  }();
  return all;
}

const AdapterInfo* find_adapter(std::string_view name) {
  for (const auto& adapter : without_library()) {
    if (adapter.name == name) return &adapter;
  }
  const bool known = std::ranges::find(with_library, name, &Known::name) != with_library.end();
  return known ? library_adapter(name).adapter : nullptr;
}

std::string LeftOutAdapter::way_out() const {
  if (why.empty())
    return fmt::format("not in this build; install {}, then `cmake --preset release` and build", install);
  return fmt::format("cannot be loaded: {}; install {}, or rebuild the driver", why, install);
}

}  // namespace edgejoule::driver
