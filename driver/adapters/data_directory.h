// Checks the directory of a database before the library touches it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace edgejoule::driver {

// The files that identify a database's directory.
struct DirectoryMarks {
  std::string_view database;  // its name in messages
  std::string_view property;  // "leveldb.path"
  std::string_view present;   // a file that every database of the kind has
  std::string_view absent;    // a file that only another kind has; empty: none
};

// Creates the directory if it is absent and `create` is set. Throws DatabaseError if there is no database and none may
// be created, if the directory holds other data, or if it cannot be created or read.
void prepare_data_directory(const std::filesystem::path& path, bool create, const DirectoryMarks& marks);

// The message for a path without a database.
[[nodiscard]] std::string no_database_at(const std::filesystem::path& path, std::string_view database);

}  // namespace edgejoule::driver
