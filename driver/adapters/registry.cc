// The adapters built in. A further one is one line in each of the two lists.
#include "adapter.h"
#include "lunar/lunar.h"
#include "noop/noop.h"
#ifdef EDGEJOULE_LEVELDB
#include "leveldb/leveldb.h"
#endif
#ifdef EDGEJOULE_LMDB
#include "lmdb/lmdb.h"
#endif
#ifdef EDGEJOULE_MONGODB
#include "mongodb/mongodb.h"
#endif
#ifdef EDGEJOULE_POSTGRES
#include "postgres/postgres.h"
#endif
#ifdef EDGEJOULE_REDIS
#include "redis/redis.h"
#endif
#ifdef EDGEJOULE_ROCKSDB
#include "rocksdb/rocksdb.h"
#endif
#ifdef EDGEJOULE_SQLITE
#include "sqlite/sqlite.h"
#endif

namespace edgejoule::driver {

const std::vector<AdapterInfo>& adapters() {
  static const std::vector<AdapterInfo> all = {
#ifdef EDGEJOULE_LEVELDB
      leveldb_adapter(),
#endif
#ifdef EDGEJOULE_LMDB
      lmdb_adapter(),
#endif
      lunar_adapter(),
#ifdef EDGEJOULE_MONGODB
      mongodb_adapter(),
#endif
      noop_adapter(),
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
  return all;
}

const std::vector<LeftOutAdapter>& left_out_adapters() {
  static const std::vector<LeftOutAdapter> all = {
#ifndef EDGEJOULE_LEVELDB
      {"leveldb", "libleveldb-dev"},
#endif
#ifndef EDGEJOULE_LMDB
      {"lmdb", "liblmdb-dev"},
#endif
#ifndef EDGEJOULE_MONGODB
      {"mongodb", "libmongoc-dev"},
#endif
#ifndef EDGEJOULE_POSTGRES
      {"postgres", "libpq-dev"},
#endif
#ifndef EDGEJOULE_REDIS
      {"redis", "libhiredis-dev"},
#endif
#ifndef EDGEJOULE_ROCKSDB
      {"rocksdb", "librocksdb-dev"},
#endif
#ifndef EDGEJOULE_SQLITE
      {"sqlite", "libsqlite3-dev"},
#endif
  };
  return all;
}

const AdapterInfo* find_adapter(std::string_view name) {
  for (const AdapterInfo& adapter : adapters()) {
    if (adapter.name == name) return &adapter;
  }
  return nullptr;
}

}  // namespace edgejoule::driver
