// What RocksDB writes of a database's options into its OPTIONS-N files: all that a job's input does not carry.
#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <optional>
#include <string>

#include "rocksdb_text.h"

namespace eco {

// Of one column family.
struct OptionsFile {
  rocksdb_text::Fields db, family;
  std::string table;  // RocksDB's string of a block-based table, "id=BlockBasedTable;..."
};

// number: of the file; nothing: the newest. Nothing: it is not found, or has no such family with block-based tables;
// `why` tells.
[[nodiscard]] std::optional<OptionsFile> read_options_file(rocksdb::FileSystem& files, const std::string& database,
                                                           std::optional<std::uint64_t> number,
                                                           const std::string& column_family, std::string& why);

// The same of the file's text.
[[nodiscard]] std::optional<OptionsFile> options_in(const std::string& text, const std::string& column_family,
                                                    std::string& why);

}  // namespace eco
