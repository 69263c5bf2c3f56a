// May this job be offloaded: what a worker needs of RocksDB's input, or the reason why the job stays here.
#pragma once

#include <rocksdb/options.h>

#include <string>

#include "compaction_text.h"
#include "eco.h"
#include "eco.pb.h"
#include "monitor.h"

namespace eco {

// Thrown: the job is compacted here.
struct NotOffloadable {
  std::string reason;
  bool placer_s = false;  // the placer's decision, which it knows
};

// A job that a worker may have.
struct PortableJob {
  CompactionInput input{};                               // with all options of the job
  proto::TableOptions objects{};                         // what the worker creates
  const rocksdb::ColumnFamilyOptions* opened = nullptr;  // what its column family was opened with
  Job features{};
};

// Reads RocksDB's input of a job. Throws NotOffloadable.
[[nodiscard]] PortableJob portable_job(const Settings& settings, TextForm form, const std::string& database,
                                       const std::string& text, const Begun& begun);

// A number among a job's options; 0: the option is no number. Throws NotOffloadable: it is not there.
[[nodiscard]] double number_option(const rocksdb_text::Fields& options, const char* name);

}  // namespace eco
