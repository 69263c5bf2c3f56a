#pragma once

#include <rocksdb/comparator.h>
#include <rocksdb/db.h>

#include "compaction_model.h"
#include "compaction_text.h"

namespace eco {

// Returns the share of a subcompaction in its compaction: at least one entry and its bytes; the whole if the job is no
// subcompaction. Estimates it from sizes in the default column family. For another family it divides by
// max_subcompactions, because RocksDB makes the parts equal.
[[nodiscard]] Job part_of(const Job& compaction, const CompactionInput& input, rocksdb::DB& db,
                          const rocksdb::Comparator& order);

}  // namespace eco
