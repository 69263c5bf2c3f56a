// Checks whether a job can be offloaded: extracts what a worker needs from RocksDB's input, or the reason to stay
// local.
#pragma once

#include <rocksdb/options.h>

#include <string>

#include "compaction_text.h"
#include "eco.h"
#include "eco.pb.h"
#include "monitor.h"

namespace eco {

// Thrown when a job must be compacted locally.
struct NotOffloadable {
  std::string reason;
  bool placer_s = false;  // the placer made this decision; it needs no report
};

// A job that can be offloaded.
struct PortableJob {
  CompactionInput input{};                               // includes all options of the job
  proto::TableOptions objects{};                         // that the worker creates
  const rocksdb::ColumnFamilyOptions* opened = nullptr;  // options that its column family was opened with
  Job features{};
};

// Reads RocksDB's input of a job. Throws NotOffloadable.
[[nodiscard]] PortableJob portable_job(const Settings& settings, TextForm form, const std::string& database,
                                       const std::string& text, const Begun& begun);

// Returns a numeric option of a job; 0 if its value is no number. Throws NotOffloadable if it is missing.
[[nodiscard]] double number_option(const rocksdb_text::Fields& options, const char* name);

}  // namespace eco
