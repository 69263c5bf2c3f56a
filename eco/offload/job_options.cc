#include "job_options.h"

#include <fmt/format.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/comparator.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

namespace eco {
namespace {

using rocksdb_text::Fields;

std::string text_of(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += fmt::format("{}={};", name, value);
  return text;
}

// False: the option affects no output, so that the worker may have another value.
bool matters(std::string_view name) {
  constexpr std::array unused{"env", "listeners", "memtable_factory", "statistics", "wal_filter"};
  return std::ranges::find(unused, name) == unused.end();
}

std::string first_change(const Fields& before, const Fields& after) {
  for (const auto& [name, value] : before) {
    if (!matters(name)) continue;
    const auto found = after.find(name);
    if (found == after.end()) return fmt::format("option {} is {}, and RocksDB here has no such option", name, value);
    if (found->second != value)
      return fmt::format("option {} is {}, and {} when RocksDB re-creates it", name, value, found->second);
  }
  return "";
}

// status: of RocksDB's conversion of the options from and to text.
std::string first_change(const char* what, const Fields& before, const rocksdb::Status& status,
                         const std::string& after) {
  if (!status.ok()) return fmt::format("the {} options: {}", what, status.ToString());
  const auto fields = rocksdb_text::fields(after);
  if (!fields) return fmt::format("the {} options: RocksDB's serialised form is malformed", what);
  return first_change(before, *fields);
}

// The settings with which OpenAndCompact reads options.
rocksdb::ConfigOptions reading() {
  rocksdb::ConfigOptions config;
  config.invoke_prepare_options = false;
  config.ignore_unknown_options = true;
  return config;
}

std::string changed_database_option(const Fields& texts) {
  rocksdb::DBOptions options;
  std::string text;
  auto status = rocksdb::GetDBOptionsFromString(reading(), {}, text_of(texts), &options);
  if (status.ok()) status = rocksdb::GetStringFromDBOptions(reading(), options, &text);
  return first_change("database's", texts, status, text);
}

std::string changed_family_option(const Fields& texts, const Objects& objects) {
  rocksdb::ColumnFamilyOptions options;
  auto status = rocksdb::GetColumnFamilyOptionsFromString(reading(), {}, text_of(texts), &options);
  options.comparator = objects.comparator, options.merge_operator = objects.merge_operator;
  options.compaction_filter = objects.compaction_filter;
  options.compaction_filter_factory = objects.compaction_filter_factory;
  options.prefix_extractor = objects.prefix_extractor, options.table_factory = objects.table_factory;
  options.sst_partitioner_factory = objects.sst_partitioner_factory;
  options.table_properties_collector_factories = objects.table_properties_collector_factories;
  std::string text;
  if (status.ok()) status = rocksdb::GetStringFromColumnFamilyOptions(reading(), options, &text);
  return first_change("column family's", texts, status, text);
}

std::string changed_table_option(const std::string& texts, const rocksdb::TableFactory& format) {
  auto fields = rocksdb_text::fields(texts);
  if (!fields) return "the table options: malformed";
  fields->erase("id");
  std::string text;
  const auto status = format.GetOptionString(reading(), &text);
  return first_change("table", *fields, status, text);
}

}  // namespace

std::optional<OptionsFile> options_of_job(const CompactionInput& input, rocksdb::FileSystem& files,
                                          const std::string& database, std::string& why) {
  auto options = read_options_file(files, database, input.options_file, input.column_family, why);
  if (options && !input.options_file) options->db = input.db_options, options->family = input.cf_options;
  return options;
}

std::string create_objects(const proto::TableOptions& names, Objects& created) {
  std::string error = create_object<rocksdb::Comparator>("comparator", names.comparator(), created.comparator);
  const auto next = [&]<typename T>(const char* kind, const std::string& text, auto& object) {
    if (error.empty()) error = create_object<T>(kind, text, object);
  };
  next.operator()<rocksdb::MergeOperator>("merge operator", names.merge_operator(), created.merge_operator);
  next.operator()<const rocksdb::SliceTransform>("prefix extractor", names.prefix_extractor(),
                                                 created.prefix_extractor);
  next.operator()<rocksdb::TableFactory>("table format", names.table_factory(), created.table_factory);
  next.operator()<rocksdb::CompactionFilter>("compaction filter", names.compaction_filter(), created.compaction_filter);
  next.operator()<rocksdb::CompactionFilterFactory>("compaction filter factory", names.compaction_filter_factory(),
                                                    created.compaction_filter_factory);
  for (const auto& name : names.properties_collectors()) {
    std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> collector;
    next.operator()<rocksdb::TablePropertiesCollectorFactory>("table properties collector", name, collector);
    created.table_properties_collector_factories.push_back(std::move(collector));
  }
  return error;
}

std::string changed_option(const OptionsFile& texts, const Objects& objects) {
  std::string change = changed_database_option(texts.db);
  if (change.empty()) change = changed_family_option(texts.family, objects);
  if (change.empty()) change = changed_table_option(texts.table, *objects.table_factory);
  return change;
}

}  // namespace eco
