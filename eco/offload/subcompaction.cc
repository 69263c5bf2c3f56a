#include "subcompaction.h"

#include <rocksdb/metadata.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace eco {
namespace {

struct KeyRange {
  std::string smallest, largest;
};

// Total over all tables of the default column family.
std::optional<KeyRange> all_keys(rocksdb::DB& db, const rocksdb::Comparator& order) {
  rocksdb::ColumnFamilyMetaData family;
  db.GetColumnFamilyMetaData(&family);
  std::optional<KeyRange> keys;
  for (const auto& level : family.levels)
    for (const auto& table : level.files) {
      if (!keys) keys = KeyRange{table.smallestkey, table.largestkey};
      if (order.Compare(table.smallestkey, keys->smallest) < 0) keys->smallest = table.smallestkey;
      if (order.Compare(table.largestkey, keys->largest) > 0) keys->largest = table.largestkey;
    }
  return keys;
}

// Returns nothing if no estimate is possible. RocksDB counts whole blocks between the keys, so that a few entries count
// as 0.
std::optional<double> share_by_size(const CompactionInput& input, rocksdb::DB& db, const rocksdb::Comparator& order) {
  const auto keys = all_keys(db, order);
  if (!keys) return std::nullopt;
  const KeyRange part{input.has_begin ? input.begin : keys->smallest, input.has_end ? input.end : keys->largest};
  // RocksDB asserts that the start is not after the end.
  if (order.Compare(part.smallest, part.largest) > 0) return 0;
  const rocksdb::Range ranges[] = {{part.smallest, part.largest}, {keys->smallest, keys->largest}};
  std::uint64_t bytes[2] = {0, 0};
  const auto status = db.GetApproximateSizes({}, db.DefaultColumnFamily(), ranges, 2, bytes);
  if (!status.ok() || bytes[1] == 0 || bytes[0] > bytes[1]) return std::nullopt;
  return static_cast<double>(bytes[0]) / static_cast<double>(bytes[1]);
}

double share_of(const CompactionInput& input, rocksdb::DB& db, const rocksdb::Comparator& order) {
  std::optional<double> share;
  if (input.column_family == rocksdb::kDefaultColumnFamilyName) share = share_by_size(input, db, order);
  return share.value_or(1 / std::max(1.0, static_cast<double>(db.GetDBOptions().max_subcompactions)));
}

std::uint64_t part(std::uint64_t whole, double share) {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(whole) * share));
}

}  // namespace

Job part_of(const Job& compaction, const CompactionInput& input, rocksdb::DB& db, const rocksdb::Comparator& order) {
  if (!input.has_begin && !input.has_end) return compaction;
  const double one_entry = 1 / std::max(1.0, static_cast<double>(compaction.input_entries));
  const double share = std::max(one_entry, share_of(input, db, order));
  return {.input_bytes = part(compaction.input_bytes, share),
          .input_entries = part(compaction.input_entries, share),
          .codec = compaction.codec};
}

}  // namespace eco
