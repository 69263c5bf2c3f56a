#include "volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "adapters/data_directory.h"
#include "system/check.h"
#include "system/memory_size.h"
#include "system/system.h"

namespace edgejoule::driver {
namespace {

constexpr std::string_view key_column = "YCSB_KEY";

std::string_view name_of_type(std::uint8_t type) {
  switch (type) {
    case LUNAR_INT64:
      return "integer";
    case LUNAR_TEXT:
      return "text";
    case LUNAR_BLOB:
      return "blob";
    default:
      return "of another type";
  }
}

lunar_column column(std::string_view name, std::uint8_t type, std::uint8_t flags) {
  lunar_column made{};
  EJ_CHECK(name.size() < sizeof made.name, name, sizeof made.name);  // a terminating zero follows
  std::memcpy(made.name, name.data(), name.size());
  made.type = type;
  made.flags = flags;
  return made;
}

lunar_schema schema_of(const LunarSettings& settings) {
  lunar_schema schema{};
  schema.columns[schema.column_count++] = column(key_column, settings.key_type, LUNAR_NOT_NULL);
  for (const auto& field : settings.field_names) {
    schema.columns[schema.column_count++] = column(column_name(field), settings.field_type, 0);
  }
  schema.index = static_cast<std::uint8_t>(settings.index.value_or(LUNAR_INDEX_TREE));
  return schema;
}

std::string_view way_out(int code) {
  switch (code) {
    case LUNAR_E_FULL:
      return "; make a larger volume (lunar.size_bytes) and load again";
    case LUNAR_E_TOO_LARGE:
      return "; a lunar row has at most about 64,900 bytes, a key of a tree index 64 (lunar.index=hash allows longer "
             "keys)";
    case LUNAR_E_EXISTS:
      return "; has an earlier run or load inserted it?";
    case LUNAR_E_TXN_FULL:
      return "; a larger volume has a larger log (lunar.size_bytes, up to 128 MiB), or raise lunar.buffer_bytes";
    case LUNAR_E_FAILED:
      return "; reopen the database";
    default:
      return "";
  }
}

}  // namespace

LunarVolume::LunarVolume(const LunarSettings& settings, bool create)
    : settings_(settings),
      device_(settings, create),
      buffer_(memory_size(settings.buffer_bytes / sizeof(std::uint64_t))) {
  lunar_config& config = device_.config();
  config.buffer = buffer_.data();
  config.buffer_bytes = buffer_.size() * sizeof(std::uint64_t);
  config.atomic_write_bytes = settings.atomic_write_bytes;
  config.mode = settings.mode;
  mount(create);
  mounted_ = true;
  const auto stat = statistics();
  const auto log_begin = stat.super_bytes + stat.root_bytes + stat.meta_bytes + stat.map_bytes;
  device_.log_lies_at(log_begin, log_begin + stat.log_bytes);
  open_table(create);
}

void LunarVolume::mount(bool create) {
  int code = lunar_mount(&handle_, &device_.config());
  if (code == LUNAR_E_NO_VOLUME) {
    if (!device_.blank()) {
      throw DatabaseError(
          fmt::format("{} is not empty and holds no lunar database; set lunar.path to a lunar database, a new file, "
                      "or a device whose first MiB is zeros",
                      settings_.file));
    }
    if (!create) throw DatabaseError(no_database_at(settings_.file, "lunar"));
    format();
    code = lunar_mount(&handle_, &device_.config());
  }
  if (code == LUNAR_E_UNCLEAN) return mount_after_mode_none();
  if (code == LUNAR_E_INVALID) {
    throw DatabaseError(fmt::format("lunar: {} has another sector size than lunar.sector_bytes={}", settings_.file,
                                    settings_.sector_bytes));
  }
  if (code != LUNAR_OK) fail("mount", code);
}

// A volume last used in mode none may be damaged. Another mode may use it only if a check succeeds.
void LunarVolume::mount_after_mode_none() {
  lunar_config& config = device_.config();
  config.mode = LUNAR_MODE_NONE;
  if (const int code = lunar_mount(&handle_, &config)) fail("mount", code);
  mounted_ = true;
  lunar_findings findings{};
  const int checked = lunar_check(&handle_, &findings);
  const int unmounted = unmount();
  config.mode = settings_.mode;
  if (checked != LUNAR_OK) {
    throw DatabaseError(fmt::format("lunar: {} was not closed, had mode none and is damaged ({}); load it again",
                                    settings_.file, *findings.text != 0 ? findings.text : lunar_error_text(checked)));
  }
  if (unmounted != LUNAR_OK) fail("unmount", unmounted);
  if (const int code = lunar_mount(&handle_, &config)) fail("mount", code);
}

void LunarVolume::format() {
  lunar_config& config = device_.config();
  config.seed = static_cast<std::uint32_t>(now_realtime_ns());
  if (const int code = lunar_format(&config)) fail("format", code);
}

void LunarVolume::open_table(bool create) {
  int code = lunar_table_open(&handle_, settings_.table.c_str(), &table_);
  if (code == LUNAR_E_NO_TABLE) {
    if (!create) throw DatabaseError(no_database_at(settings_.file, "loaded lunar"));
    const lunar_schema schema = schema_of(settings_);
    code = lunar_table_create(&handle_, settings_.table.c_str(), &schema);
    if (code == LUNAR_OK) code = lunar_table_open(&handle_, settings_.table.c_str(), &table_);
    if (code == LUNAR_OK) code = lunar_sync(&handle_);
  }
  if (code != LUNAR_OK) fail("open of table " + settings_.table, code);
  check_table();
  if (settings_.cache_bytes > 0) open_cache();
}

void LunarVolume::open_cache() {
  cache_memory_.resize(memory_size(settings_.cache_bytes / sizeof(std::uint64_t)));
  const auto bytes = cache_memory_.size() * sizeof(std::uint64_t);
  const int code = lunar_cache_open(&table_, &cache_, cache_memory_.data(), bytes, settings_.cache_row_bytes);
  if (code == LUNAR_E_BUFFER) {
    throw DatabaseError(
        fmt::format("lunar: lunar.cache_bytes={} is too small for four rows of lunar.cache_row_bytes={}",
                    settings_.cache_bytes, settings_.cache_row_bytes));
  }
  if (code != LUNAR_OK) fail("cache of table " + settings_.table, code);
}

void LunarVolume::check_table() {
  lunar_schema there{};
  if (const int code = lunar_table_schema(&table_, &there)) fail("schema of table " + settings_.table, code);
  const auto where = fmt::format("lunar: table {} in {}", settings_.table, settings_.file);
  if (there.columns[there.key].type != settings_.key_type || there.key != 0) {
    throw DatabaseError(
        fmt::format("{} was loaded by a workload of another kind: its keys are {}, expected {}; load again", where,
                    name_of_type(there.columns[there.key].type), name_of_type(settings_.key_type)));
  }
  if (settings_.index && there.index != *settings_.index) {
    throw DatabaseError(fmt::format("{} has a {} index, not the {} of lunar.index; load again to change it", where,
                                    name_of(static_cast<lunar_index>(there.index)), name_of(*settings_.index)));
  }
  bool same = there.column_count == settings_.field_names.size() + 1;
  for (std::size_t field = 0; same && field < settings_.field_names.size(); ++field) {
    same = column_name(settings_.field_names[field]) == there.columns[field + 1].name &&
           there.columns[field + 1].type == settings_.field_type;
  }
  if (!same) {
    throw DatabaseError(
        fmt::format("{} has {} fields, or others than the workload asks for; set fieldcount, "
                    "fieldnameprefix and fieldtype as they were at load, or load again",
                    where, there.column_count - 1));
  }
}

lunar_statistics LunarVolume::statistics() {
  lunar_statistics stat{};
  if (const int code = lunar_stat(&handle_, &stat)) fail("statistics", code);
  return stat;
}

int LunarVolume::hand_over() { return settings_.hands_over ? lunar_write_out(&handle_) : LUNAR_OK; }

int LunarVolume::unmount() {
  if (!std::exchange(mounted_, false)) return LUNAR_OK;
  return lunar_unmount(&handle_);
}

std::string LunarVolume::error(int code) {
  const std::string reason = device_.take_failure();
  return fmt::format("lunar: {}: {}{}{}{}", settings_.file, lunar_error_text(code), reason.empty() ? "" : ": ", reason,
                     way_out(code));
}

void LunarVolume::fail(const std::string& what, int code) {
  throw DatabaseError(fmt::format("{}: {}", what, error(code)));
}

}  // namespace edgejoule::driver
