// Differences between the supported releases of RocksDB: 7.8 (Debian 12), 9.10 (Debian 13), newer.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#if __has_include(<rocksdb/advanced_cache.h>)
#include <rocksdb/advanced_cache.h>  // since 8.0 the members of Cache are declared there
#endif

#include <memory>
#include <string>
#include <vector>

namespace edgejoule::driver {

// Opens all the column families of `descriptors`. From 9.11 on RocksDB returns the database as unique_ptr (from 11 on
// only so), before as a plain pointer.
template <typename Database = rocksdb::DB>
rocksdb::Status open_rocksdb(const rocksdb::DBOptions& options, const std::string& path,
                             const std::vector<rocksdb::ColumnFamilyDescriptor>& descriptors,
                             std::vector<rocksdb::ColumnFamilyHandle*>* handles, std::unique_ptr<Database>* database) {
  if constexpr (requires { Database::Open(options, path, descriptors, handles, database); }) {
    return Database::Open(options, path, descriptors, handles, database);
  } else {
    Database* opened = nullptr;
    const rocksdb::Status status = Database::Open(options, path, descriptors, handles, &opened);
    database->reset(opened);
    return status;
  }
}

}  // namespace edgejoule::driver
