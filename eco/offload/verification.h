// Verifies a worker's outputs. They are accepted only if
// - every block of every table matches its checksum;
// - the tables are exactly those of the result, in key order, disjoint, within the job's range and created while the
//   job ran by the local clock;
// - their entries add up to the result's count and, if only puts and deletions were merged, together with the reported
//   drops to the input's count.
#pragma once

#include <rocksdb/comparator.h>
#include <rocksdb/options.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compaction_text.h"

namespace eco {

struct TableFacts {
  std::uint64_t bytes = 0, entries = 0, range_deletions = 0;
  std::uint64_t created_s = 0;             // Unix time, from its properties
  std::optional<std::string> first, last;  // user keys; nothing: only deletions
};

// Reads a whole table. Returns nothing and sets `why` if it cannot be read or a checksum or the format is wrong.
[[nodiscard]] std::optional<TableFacts> verify_table(const rocksdb::Options& options, const std::string& path,
                                                     std::string& why);

struct Expectation {
  std::string folder;  // that holds the tables
  int output_level = 0;
  const rocksdb::Comparator* comparator = nullptr;
  std::uint64_t latest_sequence = 0;           // the input has no newer entry
  std::optional<std::uint64_t> input_records;  // without range deletions; nothing: not countable
  bool accountable = false;                    // each input entry is output, or dropped and counted
  std::optional<std::uint64_t> entries_max;    // upper bound, if the exact number is unknown
  std::optional<std::string> begin, end;       // of a subcompaction
  std::int64_t begun_s = 0, now_s = 0;         // Unix times by the local clock, bounds of the tables' creation
};

// Returns why a result is rejected; empty: it is accepted. tables: facts of the received tables, by name.
[[nodiscard]] std::string verify_result(const CompactionResult& result, const std::map<std::string, TableFacts>& tables,
                                        const Expectation& expected);

}  // namespace eco
