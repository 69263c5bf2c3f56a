// Decides whether a worker would produce the same contents as a local compaction.
//
// A worker has only RocksDB's text of the application's objects (comparator, merge operator, prefix extractor, filter
// policy, compaction filter, collectors). A job stays local unless
// - each object is RocksDB's own and its text re-creates an equal object, or the application declares that its workers
//   have the same code (Settings::same_code);
// - RocksDB's text of every option re-creates the same option;
// - RocksDB passes to the worker everything that affects the outputs, and passes back everything that it needs to know
//   about them.
#pragma once

#include <rocksdb/options.h>

#include <string>
#include <vector>

#include "eco.pb.h"
#include "options_file.h"

namespace eco {

// The options that a column family was opened with.
struct OpenedWith {
  const rocksdb::ColumnFamilyOptions& family;
  const rocksdb::Comparator* default_comparator;  // of the default column family
};

// Returns why the job stays local. Empty: it can be offloaded, and `objects` has what a worker must create. texts: the
// job's options. same_code: names of objects whose code all workers have.
[[nodiscard]] std::string why_local(const OpenedWith& opened, const OptionsFile& texts,
                                    const std::vector<std::string>& same_code, proto::TableOptions& objects);

}  // namespace eco
