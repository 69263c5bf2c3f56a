// The settings to test: all combinations of the varied properties.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "recording.h"

namespace edgejoule::driver {

struct NamedSetting {
  std::string name;  // the varied values ("journal_mode=wal synchronous=full"), or "as given"
  DatabaseSetting setting;
};

// The class of that name. Throws UsageError; the message begins with `origin`.
[[nodiscard]] Durability durability_named(const std::string& name, const std::string& origin);

// All combinations of the given `vary` ("key=value,value"; the key `durability` is the class), added to `base`. Throws
// UsageError for a malformed or unknown one.
[[nodiscard]] std::vector<NamedSetting> test_settings(const DatabaseSetting& base, const std::vector<std::string>& vary,
                                                      const std::optional<std::string>& expected);

// Throws UsageError if the adapter stores no files, or if a property has no meaning for this command.
void check_testable(const AdapterInfo& adapter, const Properties& properties);

// Places the database in the directory. Unless the user has set them, makes buffers so small that a short stream causes
// flushes and compactions. Returns a description of these settings, empty if there are none.
[[nodiscard]] std::string prepare_for_test(const AdapterInfo& adapter, Properties& properties,
                                           const std::filesystem::path& directory);

}  // namespace edgejoule::driver
