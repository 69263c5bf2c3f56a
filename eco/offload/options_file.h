// Reads a database's options from RocksDB's OPTIONS-N files; a job's input does not contain them all.
#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <optional>
#include <string>

#include "rocksdb_text.h"

namespace eco {

// The options of one column family.
struct OptionsFile {
  rocksdb_text::Fields db, family;
  std::string table;  // RocksDB's text of the block-based table format, "id=BlockBasedTable;..."
};

// number: of the file; nothing: the newest. Returns nothing and sets `why` if there is no such file, or no such family
// with block-based tables in it.
[[nodiscard]] std::optional<OptionsFile> read_options_file(rocksdb::FileSystem& files, const std::string& database,
                                                           std::optional<std::uint64_t> number,
                                                           const std::string& column_family, std::string& why);

// Parses the text of an OPTIONS file; otherwise as read_options_file.
[[nodiscard]] std::optional<OptionsFile> options_in(const std::string& text, const std::string& column_family,
                                                    std::string& why);

}  // namespace eco
