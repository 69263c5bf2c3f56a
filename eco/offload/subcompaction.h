#pragma once

#include <rocksdb/comparator.h>
#include <rocksdb/db.h>

#include "compaction_model.h"
#include "compaction_text.h"

namespace eco {

// A subcompaction's part of its compaction, at least one entry and its bytes; of a job that is no subcompaction: the
// whole. Estimated from the sizes of the default column family; of another family from max_subcompactions alone, as
// RocksDB makes the parts even.
[[nodiscard]] Job part_of(const Job& compaction, const CompactionInput& input, rocksdb::DB& db,
                          const rocksdb::Comparator& order);

}  // namespace eco
