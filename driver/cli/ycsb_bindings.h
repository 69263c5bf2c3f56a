// Names of databases in Java YCSB: the classes of its bindings and the short names of its launcher.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace edgejoule::driver {

inline constexpr std::array<std::pair<std::string_view, std::string_view>, 12> adapters_of_bindings{
    {{"BasicDB", "noop"},
     {"GoodBadUglyDB", "noop"},
     {"JdbcDBClient", "sqlite"},
     {"MongoDbClient", "mongodb"},
     {"PostgreNoSQLDBClient", "postgres"},
     {"RedisClient", "redis"},
     {"RocksDBClient", "rocksdb"},
     {"basic", "noop"},
     {"jdbc", "sqlite"},
     {"postgrenosql", "postgres"},
     {"mongodb-async", "mongodb"},
     {"AsyncMongoDbClient", "mongodb"}}};

// True if the name is that of a Java class of YCSB.
[[nodiscard]] inline bool is_binding_class(std::string_view name) {
  return name.starts_with("site.ycsb.") || name.starts_with("com.yahoo.ycsb.");
}

// The adapter that corresponds to the binding, built in or not; "" if there is none.
[[nodiscard]] inline std::string_view adapter_for_binding(std::string_view binding) {
  const auto simple = is_binding_class(binding) ? binding.substr(binding.rfind('.') + 1) : binding;
  for (const auto& [name, adapter] : adapters_of_bindings) {
    if (name == simple) return adapter;
  }
  return {};
}

}  // namespace edgejoule::driver
