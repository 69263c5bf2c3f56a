#include "portability.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/comparator.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/flush_block_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_partitioner.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "job_options.h"

namespace eco {
namespace {

struct NotPortable {
  std::string reason;
};

const std::string& option(const rocksdb_text::Fields& options, const std::string& name) {
  const auto found = options.find(name);
  if (found == options.end()) throw NotPortable{fmt::format("the job's options lack {}", name)};
  return found->second;
}

// RocksDB's text of an object, "name" or "{id=name;...}"; empty: no object.
std::string object_text(const rocksdb_text::Fields& options, const std::string& name) {
  const std::string& text = option(options, name);
  return text == "nullptr" ? "" : std::string(rocksdb_text::without_braces(text));
}

// Identifies an object's class, even if its code was compiled without run-time type information.
template <typename T>
const void* virtual_table(const T& object) {
  static_assert(std::is_polymorphic_v<T>);
  const void* table = nullptr;
  std::memcpy(&table, static_cast<const void*>(&object), sizeof table);
  return table;
}

const void* library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

// Whether the object's class is in the library that contains RocksDB's own comparator, which is the program itself if
// RocksDB is linked statically.
template <typename T>
bool is_rocksdb_s(const T& object) {
  const void* library = library_of(virtual_table(object));
  return library != nullptr && library == library_of(virtual_table(*rocksdb::BytewiseComparator()));
}

// Compares an object with the one that RocksDB created from its text. Returns the difference; empty: equal.
template <typename T>
std::string difference(const T& original, const T& created) {
  if (!is_rocksdb_s(original) || virtual_table(original) != virtual_table(created))
    return "is code of the application, and same_code does not name it";
  rocksdb::ConfigOptions config;
  config.sanity_level = rocksdb::ConfigOptions::kSanityLevelExactMatch;
  std::string member;
  if (original.AreEquivalent(config, &created, &member)) return "";
  return fmt::format("changes when RocksDB serialises it: its {} differs", member);
}

class ObjectCheck {
 public:
  ObjectCheck(const OpenedWith& opened, const OptionsFile& texts, const std::vector<std::string>& same_code)
      : family_(opened.family), texts_(texts), same_code_(same_code) {}

  void check(proto::TableOptions& names) {
    check_table_format(names);
    names.set_comparator(
        checked<rocksdb::Comparator>("comparator", "comparator", family_.comparator, objects_.comparator));
    names.set_merge_operator(checked<rocksdb::MergeOperator>("merge operator", "merge_operator", family_.merge_operator,
                                                             objects_.merge_operator));
    names.set_prefix_extractor(checked<const rocksdb::SliceTransform>(
        "prefix extractor", "prefix_extractor", family_.prefix_extractor, objects_.prefix_extractor));
    names.set_compaction_filter(checked<rocksdb::CompactionFilter>(
        "compaction filter", "compaction_filter", family_.compaction_filter, objects_.compaction_filter));
    names.set_compaction_filter_factory(checked<rocksdb::CompactionFilterFactory>(
        "compaction filter factory", "compaction_filter_factory", family_.compaction_filter_factory,
        objects_.compaction_filter_factory));
    for (const auto& collector : family_.table_properties_collector_factories) {
      auto& created = objects_.table_properties_collector_factories.emplace_back();
      const std::string text = collector->Configurable::ToString(rocksdb::ConfigOptions());
      accept<rocksdb::TablePropertiesCollectorFactory>("table properties collector", text, collector, created);
      names.add_properties_collectors(text);
    }
    if (std::string change = changed_option(texts_, objects_); !change.empty()) throw NotPortable{std::move(change)};
  }

 private:
  [[nodiscard]] bool consented(const std::string& name) const {
    return std::ranges::find(same_code_, name) != same_code_.end();
  }

  // Pointer: raw or shared. Returns the text from which a worker creates the object.
  template <typename T, typename Pointer>
  std::string checked(const char* kind, const char* name, const Pointer& original, Pointer& created) {
    std::string text = object_text(texts_.family, name);
    created = nullptr;
    if (text.empty() != (original == nullptr))
      throw NotPortable{fmt::format("its {} differs from the one with which the column family was opened", kind)};
    if (original != nullptr) accept<T>(kind, text, original, created);
    return text;
  }

  // Only the objects that RocksDB itself registers. DBWithTTL, for example, registers its objects only in its own
  // process.
  static std::shared_ptr<rocksdb::ObjectRegistry> of_every_process() {
    return std::make_shared<rocksdb::ObjectRegistry>(rocksdb::ObjectLibrary::Default());
  }

  template <typename T, typename Pointer>
  static std::string why_unknown(const char* kind, const std::string& text, const Pointer& original) {
    if (!is_rocksdb_s(*original)) return "is code of the application, and same_code does not name it";
    Pointer created = nullptr;
    const std::string unknown = create_object<T>(kind, text, created);
    if (unknown.empty()) return "is registered only in this process, so no worker can create it";
    return "cannot be created from RocksDB's serialised form: " + unknown;
  }

  template <typename T, typename Pointer>
  void accept(const char* kind, const std::string& text, const Pointer& original, Pointer& created) {
    const std::string name = original->Name();
    if (consented(name)) {
      created = original;
      return;
    }
    const std::string unknown = create_object<T>(kind, text, created, of_every_process());
    const std::string why = unknown.empty() ? difference(*original, *created) : why_unknown<T>(kind, text, original);
    if (!why.empty()) throw NotPortable{fmt::format("its {} {} {}", kind, name, why)};
  }

  void check_table_format(proto::TableOptions& names) {
    const auto& format = family_.table_factory;
    const auto* original = format == nullptr ? nullptr : format->GetOptions<rocksdb::BlockBasedTableOptions>();
    if (original == nullptr || !is_rocksdb_s(*format)) throw NotPortable{"its tables are not block-based"};
    if (auto why = create_object<rocksdb::TableFactory>("table format", texts_.table, objects_.table_factory);
        !why.empty())
      throw NotPortable{std::move(why)};
    const auto* created = objects_.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    check_part("filter policy", original->filter_policy, created->filter_policy);
    check_part("flush block policy", original->flush_block_policy_factory, created->flush_block_policy_factory);
    names.set_table_factory(texts_.table);
  }

  // For objects of the table format. A worker creates them with the format, so that consent has no effect.
  template <typename T>
  static void check_part(const char* kind, const std::shared_ptr<T>& original, const std::shared_ptr<T>& created) {
    if (original == nullptr && created == nullptr) return;
    if (original == nullptr || created == nullptr)
      throw NotPortable{fmt::format("its {} differs from the one with which the column family was opened", kind)};
    if (const std::string why = difference(*original, *created); !why.empty())
      throw NotPortable{fmt::format("its {} {} {}", kind, original->Name(), why)};
  }

  const rocksdb::ColumnFamilyOptions& family_;
  const OptionsFile& texts_;
  const std::vector<std::string>& same_code_;
  Objects objects_;
};

// Checks for options whose effect an offloaded job lacks.
void expect_supported(const OpenedWith& opened, const OptionsFile& texts) {
  const auto& family = opened.family;
  if (family.compaction_style != rocksdb::kCompactionStyleLevel) throw NotPortable{"it is not a leveled compaction"};
  if (family.comparator->timestamp_size() > 0) throw NotPortable{"it has timestamps"};
  if (family.sst_partitioner_factory) throw NotPortable{"it has an sst_partitioner_factory"};
  if (option(texts.family, "enable_blob_files") != "false") throw NotPortable{"it has blob files"};
  if (object_text(texts.family, "sst_partitioner_factory") != "")
    throw NotPortable{"it has an sst_partitioner_factory"};
  if (object_text(texts.db, "file_checksum_gen_factory") != "") throw NotPortable{"it uses whole-file checksums"};
  for (const char* name : {"preclude_last_level_data_seconds", "preserve_internal_time_seconds"})
    if (option(texts.family, name) != "0") throw NotPortable{fmt::format("it stores the times of keys ({})", name)};
  for (const auto& [name, value] : texts.family)
    if (name.ends_with("_temperature") && value != "kUnknown")
      throw NotPortable{fmt::format("it sets the temperature of its files ({})", name)};
  if (family.comparator != opened.default_comparator)
    throw NotPortable{"its comparator differs from that of the default column family, which a worker also opens"};
}

}  // namespace

std::string why_local(const OpenedWith& opened, const OptionsFile& texts, const std::vector<std::string>& same_code,
                      proto::TableOptions& objects) {
  try {
    expect_supported(opened, texts);
    ObjectCheck(opened, texts, same_code).check(objects);
    return "";
  } catch (const NotPortable& stays) {
    return stays.reason;
  }
}

}  // namespace eco
