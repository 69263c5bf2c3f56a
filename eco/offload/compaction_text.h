// What RocksDB hands to a compaction service, and what it wants back. Neither text is a public interface: both are read
// by the exact forms of known minor releases, and a job of another form stays local.
//
// | release | input | result |
// |---|---|---|
// | 7.8 | format 1, options inside | format 1, eight members |
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb_text.h"

namespace eco {

struct CompactionInput {
  std::vector<std::string> files;  // names of the tables to merge
  int output_level = 0;
  std::string column_family;
  bool has_snapshots = false;
  bool has_begin = false, has_end = false;  // a subcompaction: user keys in [begin, end)
  std::string begin, end;
  rocksdb_text::Fields db_options, cf_options;
};

struct OutputTable {
  std::string name;
  std::uint64_t smallest_sequence = 0, largest_sequence = 0;
  std::string smallest, largest;  // internal keys
  std::string unique_id;
};

struct CompactionResult {
  int code = 0;         // of RocksDB's Status; 0: it compacted
  std::string message;  // of it
  std::vector<OutputTable> tables;
  int output_level = 0;
  std::string folder;  // of the tables
  std::uint64_t records = 0, bytes = 0;
  std::uint64_t replaced = 0, expired = 0;  // records of the input that are not in the output
  std::uint64_t single_delete_mismatches = 0, corrupt_keys = 0;
};

// Whether the texts of a release, "7.8.3", are known.
[[nodiscard]] bool texts_known(std::string_view release);

// The text is read whole or not at all: what is missing, twice, unknown or no number is an error, which `why` tells.
[[nodiscard]] std::optional<CompactionInput> read_input(std::string_view text, std::string& why);
[[nodiscard]] std::optional<CompactionResult> read_result(std::string_view text, std::string& why);

}  // namespace eco
