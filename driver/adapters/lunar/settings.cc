#include "settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "adapters/adapter_options.h"
#include "contract/properties.h"

namespace edgejoule::driver {
namespace {

constexpr std::string_view file_in_directory = "usertable.lunar";
constexpr std::uint64_t default_size_bytes = 1ULL << 30U;
constexpr std::uint64_t size_bytes_min = 128ULL * 512;
constexpr std::uint64_t default_buffer_bytes = 1ULL << 20U;
constexpr std::uint64_t default_cache_row_bytes = 1024;
constexpr std::uint64_t cache_row_bytes_max = 0xffff;
constexpr std::uint64_t buffer_bytes_max = 1ULL << 30U;
constexpr std::uint64_t atomic_write_bytes_max = 1ULL << 20U;
constexpr std::array<std::string_view, 5> modes = {"none", "disorder", "metadata", "data", "full"};
constexpr std::array<std::string_view, 2> indexes = {"hash", "tree"};
constexpr std::array<std::string_view, 2> sector_sizes = {"512", "4096"};
constexpr std::array<std::string_view, 3> key_types = {"text", "integer", "blob"};
constexpr std::array<std::string_view, 2> field_types = {"text", "blob"};

lunar_mode class_mode(Durability durability) {
  return durability == Durability::none      ? LUNAR_MODE_NONE
         : durability == Durability::process ? LUNAR_MODE_DATA
                                             : LUNAR_MODE_FULL;
}

lunar_mode mode(const Properties& properties, Durability durability) {
  const auto name = choice_option(properties, "lunar.mode", std::string(name_of(class_mode(durability))), modes);
  return static_cast<lunar_mode>(std::ranges::find(modes, name) - modes.begin() + LUNAR_MODE_NONE);
}

bool hands_over(lunar_mode mode, Durability durability) {
  return durability == Durability::process && mode != LUNAR_MODE_NONE && mode != LUNAR_MODE_FULL;
}

std::string_view promise(lunar_mode mode, bool handed_over) {
  if (handed_over) return "each write goes to the system before it is acknowledged, and is synced with a checkpoint";
  switch (mode) {
    case LUNAR_MODE_NONE:
      return "writes stay in the program's memory until it needs the room, in no order; there are no transactions";
    case LUNAR_MODE_FULL:
      return "each write is synced before it is acknowledged";
    default:
      return "writes stay in the program's memory until a group of them is full; nothing is synced but by flush";
  }
}

std::string describe(const Properties& properties, lunar_mode mode, Durability durability) {
  std::string how =
      fmt::format("{}: mode={}: {}", name_of(durability), name_of(mode), promise(mode, hands_over(mode, durability)));
  if (properties.has("lunar.mode")) how += "; lunar.mode was set explicitly";
  if (mode < (durability == Durability::process ? LUNAR_MODE_DISORDER : class_mode(durability)))
    how += "; this is weaker than the class asks for: its promise does not hold";
  return how;
}

std::uint8_t key_type(const Properties& properties) {
  const auto name = choice_option(properties, "keytype", "text", key_types);
  return name == "text" ? LUNAR_TEXT : name == "integer" ? LUNAR_INT64 : LUNAR_BLOB;
}

void check_name(const Properties& properties, const std::string& property, const std::string& name) {
  if (!name.empty() && name.size() <= LUNAR_NAME_MAX) return;
  throw UsageError(fmt::format("{}: property {}: lunar's names have 1 to {} bytes; \"{}\" has {}",
                               properties.origin(property), property, LUNAR_NAME_MAX, name, name.size()));
}

std::vector<std::string> field_names(const Properties& properties) {
  auto names = workload_field_names(properties);
  constexpr std::size_t fields_max = LUNAR_COLUMNS_MAX - 1;
  if (names.size() > fields_max) {
    throw UsageError(
        fmt::format("{}: property fieldcount={}: a table of lunar has {} columns, one of them the key; "
                    "expected at most {}",
                    properties.origin("fieldcount"), names.size(), LUNAR_COLUMNS_MAX, fields_max));
  }
  for (const auto& name : names) check_name(properties, "fieldnameprefix", column_name(name));
  return names;
}

}  // namespace

std::string_view name_of(lunar_mode mode) { return modes[static_cast<std::size_t>(mode) - LUNAR_MODE_NONE]; }
std::string_view name_of(lunar_index index) { return indexes[static_cast<std::size_t>(index)]; }

std::string column_name(const std::string& field) { return field.empty() ? "value" : field; }

const std::vector<OptionHelp>& lunar_option_help() {
  static const std::vector<OptionHelp> options = {
      {"lunar.path",
       "image file, an existing directory for the file usertable.lunar in it, or a raw block device; required", ""},
      {"lunar.mode", "protection against power cuts, weakest first: none, disorder, metadata, data or full",
       "by durability class"},
      {"lunar.index",
       "index of a new table: tree (keys of at most 64 bytes) or hash (any keys, faster reads, no scans)", "tree"},
      {"lunar.buffer_bytes", "RAM that buffers pages and writes", std::to_string(default_buffer_bytes)},
      {"lunar.cache_bytes", "RAM of the query cache, which keeps rows read by key; 0: no cache", "0"},
      {"lunar.cache_row_bytes", "largest row of the query cache, and the room that each row takes in it",
       std::to_string(default_cache_row_bytes)},
      {"lunar.size_bytes", "size of a new image; the file is sparse until blocks are written",
       std::to_string(default_size_bytes)},
      {"lunar.allocate", "write every block of a new image, so that later writes allocate nothing in the file system",
       "false"},
      {"lunar.sector_bytes", "sector size, 512 or 4096; for an existing volume the size it was made with", "512"},
      {"lunar.atomic_write_bytes", "largest write that the device never tears at a power cut; 0: not known", "0"},
      {"lunar.direct", "bypass the page cache (O_DIRECT)", "false"},
  };
  return options;
}

LunarSettings lunar_settings(const Properties& properties, Durability durability) {
  refuse_unknown_options(properties, "lunar", lunar_option_help());
  LunarSettings settings;
  settings.data_path = required_option(properties, "lunar.path", "FILE");
  std::error_code ignored;  // if the path cannot be examined, open fails with the system's message
  const bool directory = std::filesystem::is_directory(settings.data_path, ignored);
  settings.file =
      directory ? (std::filesystem::path(settings.data_path) / file_in_directory).string() : settings.data_path;
  settings.table = properties.get("table", "usertable");
  check_name(properties, "table", settings.table);
  settings.field_names = field_names(properties);
  settings.key_type = key_type(properties);
  settings.field_type = choice_option(properties, "fieldtype", "text", field_types) == "text" ? LUNAR_TEXT : LUNAR_BLOB;
  settings.mode = mode(properties, durability);
  settings.hands_over = hands_over(settings.mode, durability);
  if (properties.has("lunar.index")) {
    settings.index =
        choice_option(properties, "lunar.index", "", indexes) == "tree" ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH;
  }
  settings.sector_bytes = choice_option(properties, "lunar.sector_bytes", "512", sector_sizes) == "512" ? 512 : 4096;
  settings.size_bytes =
      bounded_option(properties, "lunar.size_bytes", default_size_bytes, size_bytes_min,
                     std::uint64_t{std::numeric_limits<std::uint32_t>::max()} * settings.sector_bytes);
  settings.buffer_bytes = bounded_option(properties, "lunar.buffer_bytes", default_buffer_bytes,
                                         LUNAR_BUFFER_BYTES_MIN(settings.sector_bytes), buffer_bytes_max);
  settings.cache_row_bytes = static_cast<std::uint32_t>(
      bounded_option(properties, "lunar.cache_row_bytes", default_cache_row_bytes, 1, cache_row_bytes_max));
  settings.cache_bytes = bounded_option(properties, "lunar.cache_bytes", 0, 0, buffer_bytes_max);
  settings.atomic_write_bytes =
      static_cast<std::uint32_t>(bounded_option(properties, "lunar.atomic_write_bytes", 0, 0, atomic_write_bytes_max));
  settings.direct = properties.get_bool("lunar.direct", false);
  settings.allocate = properties.get_bool("lunar.allocate", false);
  settings.durability_how = describe(properties, settings.mode, durability);
  return settings;
}

}  // namespace edgejoule::driver
