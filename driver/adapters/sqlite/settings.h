// The settings for SQLite, derived from the options and the durability class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

enum class SqliteKeyType : std::uint8_t { text, integer, blob };
enum class SqliteFieldType : std::uint8_t { text, blob };

struct SqliteSettings {
  std::string file;
  std::string data_path;  // the directory in sqlite.path, or the file
  std::string table;
  std::vector<std::string> field_names;
  SqliteKeyType key_type;
  SqliteFieldType field_type;
  std::string journal_mode;  // in lower case, as SQLite reports it
  std::string synchronous;   // off, normal, full, extra
  std::optional<std::uint64_t> cache_bytes;
  std::optional<std::uint64_t> mmap_bytes;
  std::optional<std::uint64_t> page_size_bytes;
  int wal_autocheckpoint_pages;
  int busy_timeout_ms;
  bool without_rowid;
  bool exclusive;  // a single connection that holds its locks
  bool allow_concurrent;
  std::string durability_how;
  std::string vfs;  // the VFS of every connection
};

// The type as the table declares it.
[[nodiscard]] std::string_view declared(SqliteKeyType type);
[[nodiscard]] std::string_view declared(SqliteFieldType type);

[[nodiscard]] const std::vector<OptionHelp>& sqlite_option_help();

// Throws UsageError.
[[nodiscard]] SqliteSettings sqlite_settings(const Properties& properties, Durability durability);

}  // namespace edgejoule::driver
