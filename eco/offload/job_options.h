// Re-creates the options of a job from RocksDB's text, and its objects (comparator, merge operator, table format, ...)
// from their names. The primary does so before it asks for a place, and the worker before it compacts: an option that
// RocksDB's text loses would silently change the contents.
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

// Returns the options in a job's input or in the OPTIONS file that it names; nothing and `why` if they cannot be read.
[[nodiscard]] std::optional<OptionsFile> options_of_job(const CompactionInput& input, rocksdb::FileSystem& files,
                                                        const std::string& database, std::string& why);

// Creates the objects with RocksDB's registry of this process. Returns the unknown object; empty: all are created.
[[nodiscard]] std::string create_objects(const proto::TableOptions& names, Objects& created);

// Re-creates the options from `texts` and `objects` as RocksDB's OpenAndCompact does. Returns the first option whose
// text differs after that, with both texts; empty: none differs.
[[nodiscard]] std::string changed_option(const OptionsFile& texts, const Objects& objects);

// Creates one object from RocksDB's text. An unknown name is an error: no other object may stand in.
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
