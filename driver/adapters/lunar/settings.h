// The settings for lunar, derived from the options and the durability class.
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
  std::string data_path;  // lunar.path: a file, a directory for the file, or a block device
  std::string file;
  std::string table;
  std::vector<std::string> field_names;  // of the workload; columns 1, 2, ... of the table
  std::uint8_t key_type;                 // enum lunar_type
  std::uint8_t field_type;
  lunar_mode mode;
  bool hands_over;                   // each write is passed to the system before it is acknowledged, and synced later
  std::optional<lunar_index> index;  // of a new table; nullopt: that of the existing table
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

// The column's name for a field. The field of a raw row has no name, but its column has.
[[nodiscard]] std::string column_name(const std::string& field);

[[nodiscard]] const std::vector<OptionHelp>& lunar_option_help();

// Throws UsageError.
[[nodiscard]] LunarSettings lunar_settings(const Properties& properties, Durability durability);

}  // namespace edgejoule::driver
