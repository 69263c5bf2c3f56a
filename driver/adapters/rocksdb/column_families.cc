#include "column_families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compat.h"
#include "contract/adapter.h"

namespace edgejoule::driver {
namespace {

namespace fs = std::filesystem;

constexpr const char* option = "rocksdb.column_family";

void require(const rocksdb::Status& status, const std::string& path) {
  if (status.ok()) return;
  throw DatabaseError(
      fmt::format("cannot open the RocksDB database at {}: {}; check that no other process has it "
                  "open and that it can be written, or load a new one elsewhere",
                  path, status.ToString()));
}

// The column families of the database at the path; only the default one if there is no database yet.
std::vector<std::string> names_at(const rocksdb::Options& options, const std::string& path) {
  if (!fs::exists(fs::path(path) / "CURRENT")) return {rocksdb::kDefaultColumnFamilyName};
  std::vector<std::string> names;
  require(rocksdb::DB::ListColumnFamilies(options, path, &names), path);
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string rows_in(const std::vector<std::string>& names, const Properties& properties) {
  const auto table = properties.get("table", "usertable");
  return properties.get(option, contains(names, table) ? table : rocksdb::kDefaultColumnFamilyName);
}

// YCSB's binding opens the column families listed in this file.
void list_for_ycsb(const std::string& path, const std::vector<std::string>& names) {
  const auto file = fs::path(path) / "CF_NAMES";
  std::ofstream out(file);
  for (const auto& name : names) out << name << '\n';
  out.close();
  if (!out) throw DatabaseError(fmt::format("{} cannot be written", file.string()));
}

}  // namespace

OpenedDatabase open_with_column_families(const rocksdb::Options& options, const std::string& path,
                                         const Properties& properties) {
  auto names = names_at(options, path);
  const auto rows = rows_in(names, properties);
  if (rows.empty())
    throw UsageError(fmt::format("{}: property {} is empty: expected a name", properties.origin(option), option));
  const bool missing = !contains(names, rows);
  if (missing && !options.create_if_missing) {
    throw DatabaseError(fmt::format("the RocksDB database at {} has no column family {}, which {} names; it has: {}",
                                    path, rows, option, fmt::join(names, ", ")));
  }
  if (missing) names.push_back(rows);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const auto& name : names) descriptors.emplace_back(name, options);
  rocksdb::DBOptions database(options);
  database.create_missing_column_families = true;
  OpenedDatabase opened;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  require(open_rocksdb(database, path, descriptors, &handles, &opened.db), path);
  for (auto* handle : handles) {
    opened.families.emplace_back(handle);
    if (handle->GetName() == rows) opened.rows = handle;
  }
  if (missing) list_for_ycsb(path, names);
  return opened;
}

}  // namespace edgejoule::driver
