// An application's objects, some under RocksDB's names, and RocksDB's objects.
#pragma once

#include <rocksdb/compaction_filter.h>
#include <rocksdb/comparator.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table_properties.h>

#include <memory>
#include <string>

namespace eco::test {

// Merges to the longest operand.
[[nodiscard]] std::unique_ptr<rocksdb::MergeOperator> longest_named(const char* name);
// Orders keys by their last bytes first, under the name of RocksDB's bytewise order.
[[nodiscard]] const rocksdb::Comparator* order_by_end();
// The first letter, under the name of RocksDB's prefix of 8 bytes.
[[nodiscard]] std::shared_ptr<const rocksdb::SliceTransform> first_letter();
// Drops the keys that end with 7. Its name: "DropSevens".
[[nodiscard]] const rocksdb::CompactionFilter* drop_sevens();
// Collects the property "mine". Its name: "Collector".
[[nodiscard]] std::unique_ptr<rocksdb::TablePropertiesCollectorFactory> collector();

// RocksDB's operator of that name.
[[nodiscard]] std::shared_ptr<rocksdb::MergeOperator> rocksdb_s_operator(const std::string& name);
[[nodiscard]] const rocksdb::CompactionFilter* rocksdb_s_filter();  // drops empty values
// StringAppendOperator by its constructor, because RocksDB's text of it does not preserve every delimiter.
[[nodiscard]] std::shared_ptr<rocksdb::MergeOperator> append_by(const std::string& delimiter);

}  // namespace eco::test
