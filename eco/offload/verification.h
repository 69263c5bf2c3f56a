// What a worker sent is accepted only when all of this holds: every block of every table has its checksum; the tables
// are those of the result, all of them, in the order of their keys, apart, within the job's range, made while the job
// ran by the clock here; their entries add up to the result's and, where nothing but puts and deletions was merged,
// with what it says it dropped, to the input's.
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
  std::uint64_t created_s = 0;             // Unix time in its properties
  std::optional<std::string> first, last;  // user keys; nothing: no key is visible (deletions only)
};

// Reads a table whole. Nothing: a checksum or the format is wrong, or it cannot be read; `why` tells.
[[nodiscard]] std::optional<TableFacts> verify_table(const rocksdb::Options& options, const std::string& path,
                                                     std::string& why);

struct Expectation {
  std::string folder;  // of the tables
  int output_level = 0;
  const rocksdb::Comparator* comparator = nullptr;
  std::uint64_t latest_sequence = 0;           // nothing newer was in the input
  std::optional<std::uint64_t> input_records;  // of the tables, range deletions apart, where they can be counted
  bool accountable = false;                    // what went in comes out, or is dropped and counted
  std::optional<std::uint64_t> entries_max;    // where no more can be said than what went in at most
  std::optional<std::string> begin, end;       // of a subcompaction
  std::int64_t begun_s = 0, now_s = 0;         // Unix times by the clock here: the tables were made in between
};

// Why a result is not accepted; empty: it is. tables: the facts of what arrived, by name.
[[nodiscard]] std::string verify_result(const CompactionResult& result, const std::map<std::string, TableFacts>& tables,
                                        const Expectation& expected);

}  // namespace eco
