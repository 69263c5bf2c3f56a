// Parses the texts that RocksDB gives to a compaction service and expects back. Neither text is a public interface. eco
// reads only the exact forms of known minor releases; a job in another form stays local.
//
// | release | input | result |
// |---|---|---|
// | 7.8 | format 1, contains the options | format 1, eight members |
// | 9.10 | format 1, names the OPTIONS file | format 1, six members; tables with their properties |
#pragma once

#include <cstdint>
#include <optional>
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
  std::optional<std::uint64_t> options_file;  // its number; nothing: the input contains the options
  rocksdb_text::Fields db_options, cf_options;
};

struct OutputTable {
  std::string name;
  std::uint64_t smallest_sequence = 0, largest_sequence = 0;
  std::string smallest, largest;  // internal keys
  std::string unique_id;
  std::uint64_t created_s = 0;                                // Unix time by the clock that the worker used
  std::optional<std::uint64_t> entries{}, range_deletions{};  // from its properties, if the form has them
};

struct CompactionResult {
  int code = 0;  // of RocksDB's Status; 0: success
  std::string message;
  std::vector<OutputTable> tables;
  int output_level = 0;
  std::string folder;  // that holds the tables
  std::uint64_t records = 0, bytes = 0;
  std::uint64_t replaced = 0, expired = 0;  // input records missing from the output
  std::uint64_t single_delete_mismatches = 0, corrupt_keys = 0;
  // Input records without range deletions. RocksDB compares the number with its tables; a difference stops the
  // database.
  std::optional<std::uint64_t> input_records{};
};

enum class TextForm : std::uint8_t { rocksdb_7_8, rocksdb_9_10 };

// Returns the form of a release such as "7.8.3"; nothing: unknown release.
[[nodiscard]] std::optional<TextForm> text_form(std::string_view release);

// Reads the whole text or nothing: a field that is missing, doubled, unknown or no number is an error. `why` receives
// it.
[[nodiscard]] std::optional<CompactionInput> read_input(TextForm form, std::string_view text, std::string& why);
[[nodiscard]] std::optional<CompactionResult> read_result(TextForm form, std::string_view text, std::string& why);

}  // namespace eco
