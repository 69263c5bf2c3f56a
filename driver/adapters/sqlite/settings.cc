#include "settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <limits>
#include <string_view>

#include "adapters/adapter_options.h"
#include "contract/properties.h"

namespace edgejoule::driver {
namespace {

constexpr std::string_view file_in_directory = "usertable.sqlite";
constexpr std::uint64_t bytes_max = 1ULL << 40U;
constexpr std::uint64_t page_size_bytes_max = 65536;
constexpr auto int_max = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
constexpr std::array<std::string_view, 6> journal_modes = {"wal", "delete", "truncate", "persist", "memory", "off"};
constexpr std::array<std::string_view, 3> key_types = {"text", "integer", "blob"};
constexpr std::array<std::string_view, 2> field_types = {"text", "blob"};
constexpr std::array<std::string_view, 2> locking_modes = {"normal", "exclusive"};
constexpr std::array<std::string_view, 4> synchronous_levels = {"off", "normal", "full", "extra"};

std::optional<std::uint64_t> optional_bytes(const Properties& properties, const std::string& key, std::uint64_t max) {
  if (!properties.has(key)) return std::nullopt;
  return bounded_option(properties, key, 0, 0, max);
}

// The weakest level that fulfils the class's promise in the journal mode. A rollback journal needs more than a WAL.
// With NORMAL a power cut may corrupt the file. With FULL the DELETE mode may undo the last commit, because the
// directory is not synced after the journal is deleted.
std::string class_synchronous(Durability durability, const std::string& journal_mode) {
  switch (durability) {
    case Durability::none:
      return "off";
    case Durability::process:
      return journal_mode == "wal" ? "normal" : "full";
    case Durability::power:
      return journal_mode == "delete" ? "extra" : "full";
  }
  return "extra";
}

std::size_t strength(const std::string& level) {
  std::size_t index = 0;
  while (synchronous_levels[index] != level) ++index;
  return index;
}

std::string_view promise(Durability durability) {
  switch (durability) {
    case Durability::none:
      return "none: nothing is synced";
    case Durability::process:
      return "process: each commit is handed to the operating system before it is acknowledged";
    case Durability::power:
      return "power: each commit is synced before it is acknowledged";
  }
  return {};
}

std::string describe(const Properties& properties, const SqliteSettings& settings, Durability durability) {
  std::string how = fmt::format("{}; journal_mode={}, synchronous={}", promise(durability), settings.journal_mode,
                                settings.synchronous);
  if (properties.has("sqlite.journal_mode")) how += "; sqlite.journal_mode was set explicitly";
  if (properties.has("sqlite.synchronous")) how += "; sqlite.synchronous was set explicitly";
  const bool journal_lost =
      durability != Durability::none && (settings.journal_mode == "memory" || settings.journal_mode == "off");
  const bool too_weak = strength(settings.synchronous) < strength(class_synchronous(durability, settings.journal_mode));
  if (journal_lost || too_weak) how += "; this is weaker than the class asks for: its promise does not hold";
  return how;
}

std::string table_of(const Properties& properties) {
  const auto table = properties.get("table", "usertable");
  const auto is_of_a_word = [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; };
  if (!table.empty() && std::ranges::all_of(table, is_of_a_word)) return table;
  throw UsageError(fmt::format("{}: property table={}: expected letters, digits and underscores",
                               properties.origin("table"), table));
}

SqliteKeyType key_type(const Properties& properties) {
  const auto name = choice_option(properties, "keytype", "text", key_types);
  return name == "text" ? SqliteKeyType::text : name == "integer" ? SqliteKeyType::integer : SqliteKeyType::blob;
}

SqliteFieldType field_type(const Properties& properties) {
  return choice_option(properties, "fieldtype", "text", field_types) == "text" ? SqliteFieldType::text
                                                                               : SqliteFieldType::blob;
}

}  // namespace

std::string_view declared(SqliteKeyType type) {
  static constexpr std::array<std::string_view, 3> names = {"VARCHAR(255)", "INTEGER", "BLOB"};
  return names[static_cast<std::size_t>(type)];
}

std::string_view declared(SqliteFieldType type) { return type == SqliteFieldType::text ? "TEXT" : "BLOB"; }

const std::vector<OptionHelp>& sqlite_option_help() {
  static const std::vector<OptionHelp> options = {
      {"sqlite.path", "database file, or an existing directory for the file usertable.sqlite in it; required", ""},
      {"sqlite.journal_mode", "wal, delete, truncate, persist, memory or off", "wal"},
      {"sqlite.synchronous", "off, normal, full or extra", "by durability class"},
      {"sqlite.cache_bytes", "page cache of each connection", "SQLite's, usually 2 MB"},
      {"sqlite.mmap_bytes", "bytes of the file read through a memory map", "SQLite's, usually 0"},
      {"sqlite.page_size_bytes", "page size of a new database; must match that of an existing one",
       "SQLite's, usually 4096"},
      {"sqlite.wal_autocheckpoint_pages", "size of the WAL, in pages, at which a commit checkpoints; 0: never", "1000"},
      {"sqlite.busy_timeout_ms", "time to wait for another connection's lock before the operation fails as busy",
       "5000"},
      {"sqlite.locking_mode", "normal, or exclusive: the connection keeps its locks; allows one client thread",
       "normal"},
      {"sqlite.allow_concurrent",
       "share the database with other drivers at the same time; each of them must set this option", "false"},
      {"sqlite.without_rowid", "create the table WITHOUT ROWID: rows are stored in the tree of the primary key",
       "false"},
  };
  return options;
}

SqliteSettings sqlite_settings(const Properties& properties, Durability durability) {
  refuse_unknown_options(properties, "sqlite", sqlite_option_help());
  SqliteSettings settings;
  settings.data_path = required_option(properties, "sqlite.path", "FILE");
  std::error_code ignored;  // if the path cannot be examined, open fails with SQLite's message
  const bool directory = std::filesystem::is_directory(settings.data_path, ignored);
  settings.file =
      directory ? (std::filesystem::path(settings.data_path) / file_in_directory).string() : settings.data_path;
  settings.table = table_of(properties);
  settings.field_names = workload_field_names(properties);
  settings.key_type = key_type(properties);
  settings.field_type = field_type(properties);
  settings.journal_mode = choice_option(properties, "sqlite.journal_mode", "wal", journal_modes);
  settings.synchronous = choice_option(properties, "sqlite.synchronous",
                                       class_synchronous(durability, settings.journal_mode), synchronous_levels);
  settings.cache_bytes = optional_bytes(properties, "sqlite.cache_bytes", bytes_max);
  settings.mmap_bytes = optional_bytes(properties, "sqlite.mmap_bytes", bytes_max);
  settings.page_size_bytes = optional_bytes(properties, "sqlite.page_size_bytes", page_size_bytes_max);
  settings.wal_autocheckpoint_pages =
      static_cast<int>(bounded_option(properties, "sqlite.wal_autocheckpoint_pages", 1000, 0, int_max));
  settings.busy_timeout_ms = static_cast<int>(bounded_option(properties, "sqlite.busy_timeout_ms", 5000, 0, int_max));
  settings.exclusive = choice_option(properties, "sqlite.locking_mode", "normal", locking_modes) == "exclusive";
  settings.without_rowid = properties.get_bool("sqlite.without_rowid", false);
  settings.allow_concurrent = properties.get_bool("sqlite.allow_concurrent", false);
  settings.durability_how = describe(properties, settings, durability);
  return settings;
}

}  // namespace edgejoule::driver
