// The options of a column family that a job's input does not carry: from the database's newest OPTIONS file.
#pragma once

#include <rocksdb/file_system.h>

#include <optional>
#include <string>

namespace eco {

// RocksDB's string of a block-based table, "id=BlockBasedTable;...". Nothing: it is not found; `why` tells.
[[nodiscard]] std::optional<std::string> table_options(rocksdb::FileSystem& files, const std::string& database,
                                                       const std::string& column_family, std::string& why);

// The same of an OPTIONS file's text.
[[nodiscard]] std::optional<std::string> table_options_in(const std::string& text, const std::string& column_family);

}  // namespace eco
