// What the options and the durability class ask of SQLite.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../adapter.h"

namespace edgejoule::driver {

struct SqliteSettings {
  std::string file;
  std::string data_path;  // the directory given by sqlite.path, or the file
  std::string table;
  std::vector<std::string> field_names;
  std::string journal_mode;  // lower case, as SQLite reports it
  std::string synchronous;   // off, normal, full, extra
  std::optional<std::uint64_t> cache_bytes;
  std::optional<std::uint64_t> mmap_bytes;
  std::optional<std::uint64_t> page_size_bytes;
  int wal_autocheckpoint_pages;
  int busy_timeout_ms;
  bool without_rowid;
  std::string durability_how;
  std::string vfs;  // name of the VFS that every connection uses
};

[[nodiscard]] const std::vector<OptionHelp>& sqlite_option_help();

// Throws UsageError.
[[nodiscard]] SqliteSettings sqlite_settings(const Properties& properties, Durability durability);

}  // namespace edgejoule::driver
