// The directory of a database that keeps its files in one: checked before the library touches it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace edgejoule::driver {

// How a database's directory is told from any other.
struct DirectoryMarks {
  std::string_view database;  // as messages name it
  std::string_view property;  // "leveldb.path"
  std::string_view present;   // a file every database of the kind has
  std::string_view absent;    // a file that only another kind has; empty: none
};

// Makes the directory when it is absent and `create` is set. Throws DatabaseError when there is no database and none
// may be created, when the directory holds something else, or when it cannot be made or read.
void prepare_data_directory(const std::filesystem::path& path, bool create, const DirectoryMarks& marks);

// The message for a path without a database.
[[nodiscard]] std::string no_database_at(const std::filesystem::path& path, std::string_view database);

}  // namespace edgejoule::driver
