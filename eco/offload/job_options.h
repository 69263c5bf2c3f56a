// The options of a job as a worker has them: RocksDB re-creates them from text, and objects (comparator, merge
// operator, table format, ...) by their names. The primary re-creates them, too, before it asks for a place, and the
// worker before it compacts: an option that RocksDB's text does not keep would change the contents without a word.
#pragma once

#include <rocksdb/convenience.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/object_registry.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compaction_text.h"
#include "eco.pb.h"
#include "options_file.h"

namespace eco {

using Objects = rocksdb::CompactionServiceOptionsOverride;

// The options that a job's input tells, or the OPTIONS file that it names. Returns nothing where they cannot be read;
// `why` says so.
[[nodiscard]] std::optional<OptionsFile> options_of_job(const CompactionInput& input, rocksdb::FileSystem& files,
                                                        const std::string& database, std::string& why);

// Creates the objects by RocksDB's registry of this process. Returns which one is not known here; empty: none.
[[nodiscard]] std::string create_objects(const proto::TableOptions& names, Objects& created);

// Re-creates the options from `texts` and `objects` as RocksDB's OpenAndCompact does. Returns the first option whose
// text then is another one, and both texts; empty: there is none.
[[nodiscard]] std::string changed_option(const OptionsFile& texts, const Objects& objects);

// One object from RocksDB's text of it. An unknown name is an error, as nothing is to be compacted by another one.
template <typename T, typename Pointer>
std::string create_object(
    std::string_view kind, const std::string& text, Pointer& created,
    const std::shared_ptr<rocksdb::ObjectRegistry>& registry = rocksdb::ObjectRegistry::Default()) {
  if (text.empty()) return "";
  rocksdb::ConfigOptions config;
  config.registry = registry;
  config.ignore_unsupported_options = false;
  const rocksdb::Status status = T::CreateFromString(config, text, &created);
  if (status.ok() && created != nullptr) return "";
  return std::string(kind) + ' ' + text + " is not known here: " + status.ToString();
}

}  // namespace eco
