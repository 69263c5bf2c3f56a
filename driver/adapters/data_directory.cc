#include "data_directory.h"

#include <fmt/format.h>

#include <system_error>

#include "contract/adapter.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

void make_directory(const fs::path& path, std::string_view property) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) {
    throw DatabaseError(fmt::format("cannot create the directory {}: {}; set {} to a directory that can be written",
                                    path.string(), failure.message(), property));
  }
}

bool exists(const fs::path& path, std::string_view property) {
  std::error_code failure;
  const bool found = fs::exists(path, failure);
  if (failure) {
    throw DatabaseError(fmt::format("cannot inspect {}: {}; check {}", path.string(), failure.message(), property));
  }
  return found;
}

bool is_empty(const fs::path& path, std::string_view property) {
  std::error_code failure;
  const bool empty = fs::is_empty(path, failure);
  if (failure) {
    throw DatabaseError(
        fmt::format("cannot read the directory {}: {}; check {}", path.string(), failure.message(), property));
  }
  return empty;
}

}  // namespace

std::string no_database_at(const fs::path& path, std::string_view database) {
  return fmt::format("no {} database at {}: load one first", database, path.string());
}

void prepare_data_directory(const fs::path& path, bool create, const DirectoryMarks& marks) {
  if (!exists(path, marks.property)) {
    if (!create) throw DatabaseError(no_database_at(path, marks.database));
    make_directory(path, marks.property);
    return;
  }
  if (!fs::is_directory(path)) {
    throw DatabaseError(fmt::format("{} is not a directory; {} keeps its database in one: set {} to a directory",
                                    path.string(), marks.database, marks.property));
  }
  if (is_empty(path, marks.property)) {
    if (!create) throw DatabaseError(no_database_at(path, marks.database));
    return;
  }
  const bool foreign = !marks.absent.empty() && exists(path / marks.absent, marks.property);
  if (foreign || !exists(path / marks.present, marks.property)) {
    throw DatabaseError(fmt::format("{} holds files but no {} database; set {} to a {} database or an empty directory",
                                    path.string(), marks.database, marks.property, marks.database));
  }
}

}  // namespace edgejoule::driver
