// Whether a worker would compact a job to the contents that RocksDB would produce here.
//
// A worker has of the application's objects (comparator, merge operator, prefix extractor, filter policy, compaction
// filter, collectors) no more than RocksDB's text of them. A job stays local unless
// - each object is of RocksDB's own code and its text re-creates an equal one, or the application says that its workers
//   have the same code (Settings::same_code);
// - RocksDB's text of every option re-creates the same option;
// - RocksDB hands all that the outputs depend on to the worker, and all that it needs to know of them back.
#pragma once

#include <rocksdb/options.h>

#include <string>
#include <vector>

#include "eco.pb.h"
#include "options_file.h"

namespace eco {

// What a database, or one of its column families, was opened with.
struct OpenedWith {
  const rocksdb::ColumnFamilyOptions& family;
  const rocksdb::Comparator* default_comparator;  // of the default column family
};

// Returns why the job stays local, in plain words; empty: nothing is against it, and `objects` is what a worker
// creates. texts: the job's options. same_code: names of objects whose code all workers have.
[[nodiscard]] std::string why_local(const OpenedWith& opened, const OptionsFile& texts,
                                    const std::vector<std::string>& same_code, proto::TableOptions& objects);

}  // namespace eco
