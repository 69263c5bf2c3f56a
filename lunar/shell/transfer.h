// Tables from and to CSV files, and to SQL statements.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "volume.h"

namespace shell {

// Adds the file's rows; columns that its first line does not name are NULL. Rows go in by transactions that the log has
// room for. Throws Failure, Interrupted, whose text says up to which line the rows are in the table.
void import_table(Volume& volume, const std::string& path, const std::string& table);

// Writes every row: what import_table reads back as the same values. Throws Failure, Interrupted: the file is then
// removed, but for a table that cannot be read to its end, whose rows so far it keeps.
void export_table(Volume& volume, const std::string& table, const std::string& path);

// Writes the statements that make the same tables, rows and indexes in an empty volume. path: a file, or empty: write
// receives the statements. Throws as export_table does.
void dump(Volume& volume, const std::string& path, const std::function<void(std::string_view)>& write);

}  // namespace shell
