// The column family that holds the rows, and the opening of a database whatever column families it has.
//
// The option rocksdb.column_family names it. Without it, rows are in the column family named as the property `table`
// where the database has one (YCSB's own RocksDB binding keeps them there), in the default one otherwise. A column
// family that is made is listed in the file CF_NAMES beside the database, from which YCSB's binding learns of it.
#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <vector>

#include "contract/properties.h"

namespace edgejoule::driver {

struct OpenedDatabase {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> families;  // all of them; they end before the database
  rocksdb::ColumnFamilyHandle* rows = nullptr;                         // one of them
};

// Creates what is missing when options.create_if_missing is set. Throws DatabaseError.
[[nodiscard]] OpenedDatabase open_with_column_families(const rocksdb::Options& options, const std::string& path,
                                                       const Properties& properties);

}  // namespace edgejoule::driver
