#pragma once

#include <rocksdb/comparator.h>
#include <rocksdb/db.h>

#include "compaction_text.h"

namespace eco {

// A subcompaction's part of its compaction's bytes, from 0 to 1; of a job that is no subcompaction: 1. Estimated from
// the sizes of the default column family; of another family from max_subcompactions alone, as RocksDB makes the parts
// even.
[[nodiscard]] double share_of(const CompactionInput& input, rocksdb::DB& db, const rocksdb::Comparator& order);

}  // namespace eco
