// A library for ecod's workers with an application's code: Longest, DropSevens and Collector.
#include <rocksdb/utilities/object_registry.h>

#include <memory>
#include <string>

#include "application_code.h"

namespace {

using namespace eco::test;

int register_all() {
  auto& library = *rocksdb::ObjectLibrary::Default();
  library.AddFactory<rocksdb::MergeOperator>(
      "Longest", [](const std::string&, std::unique_ptr<rocksdb::MergeOperator>* made, std::string*) {
        *made = longest_named("Longest");
        return made->get();
      });
  library.AddFactory<rocksdb::CompactionFilter>(
      "DropSevens", [](const std::string&, std::unique_ptr<rocksdb::CompactionFilter>*, std::string*) {
        return const_cast<rocksdb::CompactionFilter*>(drop_sevens());
      });
  library.AddFactory<rocksdb::TablePropertiesCollectorFactory>(
      "Collector",
      [](const std::string&, std::unique_ptr<rocksdb::TablePropertiesCollectorFactory>* made, std::string*) {
        *made = collector();
        return made->get();
      });
  return 3;
}

[[maybe_unused]] const int registered = register_all();

}  // namespace
