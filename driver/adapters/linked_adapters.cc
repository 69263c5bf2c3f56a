#include "registry.h"

namespace edgejoule::driver {

LibraryAdapter library_adapter(std::string_view name) {
  static const std::vector<AdapterInfo> all = {
#ifdef EDGEJOULE_LEVELDB
      leveldb_adapter(),
#endif
#ifdef EDGEJOULE_LMDB
      lmdb_adapter(),
#endif
#ifdef EDGEJOULE_MONGODB
      mongodb_adapter(),
#endif
#ifdef EDGEJOULE_POSTGRES
      postgres_adapter(),
#endif
#ifdef EDGEJOULE_REDIS
      redis_adapter(),
#endif
#ifdef EDGEJOULE_ROCKSDB
      rocksdb_adapter(),
#endif
#ifdef EDGEJOULE_SQLITE
      sqlite_adapter(),
#endif
  };
  for (const auto& adapter : all) {
    if (adapter.name == name) return {&adapter, ""};
  }
  return {};
}

}  // namespace edgejoule::driver
