// What the options and the durability class ask of lunar.
#pragma once

#include <lunar.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/adapter.h"

namespace edgejoule::driver {

struct LunarSettings {
  std::string data_path;  // as lunar.path says: a file, a directory for one, or a block device
  std::string file;
  std::string table;
  std::vector<std::string> field_names;  // as the workload asks for them; columns 1, 2, ... of the table
  std::uint8_t key_type;                 // enum lunar_type
  std::uint8_t field_type;
  lunar_mode mode;
  bool hands_over;                   // each write goes to the system before it is acknowledged, and is synced later
  std::optional<lunar_index> index;  // of a new table; nothing: the table's own
  std::uint64_t size_bytes;          // of a new image
  std::uint64_t buffer_bytes;
  std::uint64_t cache_bytes;  // 0: no query cache
  std::uint32_t cache_row_bytes;
  std::uint32_t sector_bytes;
  std::uint32_t atomic_write_bytes;
  bool direct;
  bool allocate;
  std::string durability_how;
};

[[nodiscard]] std::string_view name_of(lunar_mode mode);
[[nodiscard]] std::string_view name_of(lunar_index index);

// What the table calls a field: its name; the field of a raw row has none, its column has.
[[nodiscard]] std::string column_name(const std::string& field);

[[nodiscard]] const std::vector<OptionHelp>& lunar_option_help();

// Throws UsageError.
[[nodiscard]] LunarSettings lunar_settings(const Properties& properties, Durability durability);

}  // namespace edgejoule::driver
