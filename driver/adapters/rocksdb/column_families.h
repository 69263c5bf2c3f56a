// Opens a database with all its column families, and selects the one that holds the rows.
//
// The option rocksdb.column_family names it. Without the option, it is the one named by the property `table`, if it
// exists (YCSB's RocksDB binding stores rows there), otherwise the default one. A new column family is added to the
// file CF_NAMES in the database's directory, which YCSB's binding reads.
#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <vector>

#include "contract/properties.h"

namespace edgejoule::driver {

struct OpenedDatabase {
  std::unique_ptr<rocksdb::DB> db;
  // All column families; destroyed before the database.
  std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> families;
  rocksdb::ColumnFamilyHandle* rows = nullptr;  // one of them
};

// Creates missing column families if options.create_if_missing is set. Throws DatabaseError.
[[nodiscard]] OpenedDatabase open_with_column_families(const rocksdb::Options& options, const std::string& path,
                                                       const Properties& properties);

}  // namespace edgejoule::driver
