// Which settings are tested: those asked for, in all combinations of what varies.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "recording.h"

namespace edgejoule::driver {

struct NamedSetting {
  std::string name;  // what varies: "journal_mode=wal synchronous=full"; "as given" when nothing does
  DatabaseSetting setting;
};

// The class of that name; throws UsageError that begins with `origin`.
[[nodiscard]] Durability durability_named(const std::string& name, const std::string& origin);

// Every combination of the given `vary` ("key=value,value"; the key `durability` is the class), on top of `base`.
// Throws UsageError for a malformed or unknown one.
[[nodiscard]] std::vector<NamedSetting> test_settings(const DatabaseSetting& base, const std::vector<std::string>& vary,
                                                      const std::optional<std::string>& expected);

// Throws UsageError when the adapter keeps no files, or a property has no meaning here.
void check_testable(const AdapterInfo& adapter, const Properties& properties);

// Puts the database into the directory, and gives it buffers so small that a short stream makes it flush and compact,
// where the user has not set them. Returns what was set for that, in words; empty: nothing.
[[nodiscard]] std::string prepare_for_test(const AdapterInfo& adapter, Properties& properties,
                                           const std::filesystem::path& directory);

}  // namespace edgejoule::driver
