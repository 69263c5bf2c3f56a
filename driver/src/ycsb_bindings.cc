#include "ycsb_bindings.h"

#include <algorithm>
#include <array>
#include <utility>

namespace edgejoule::driver {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array<Pair, 12> adapters_of_bindings{{{"BasicDB", "noop"},
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

}  // namespace

std::string_view adapter_for_binding(std::string_view binding) {
  const auto simple = is_binding_class(binding) ? binding.substr(binding.rfind('.') + 1) : binding;
  const auto* const found = std::ranges::find(adapters_of_bindings, simple, &Pair::first);
  return found == adapters_of_bindings.end() ? std::string_view{} : found->second;
}

bool is_binding_class(std::string_view name) {
  return name.starts_with("site.ycsb.") || name.starts_with("com.yahoo.ycsb.");
}

}  // namespace edgejoule::driver
