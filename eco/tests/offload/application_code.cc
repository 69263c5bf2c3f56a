#include "application_code.h"

#include <rocksdb/convenience.h>

#include <stdexcept>

namespace eco::test {
namespace {

class Longest final : public rocksdb::AssociativeMergeOperator {
 public:
  explicit Longest(const char* name) : name_(name) {}
  [[nodiscard]] const char* Name() const override { return name_; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* old, const rocksdb::Slice& operand, std::string* merged,
             rocksdb::Logger*) const override {
    *merged = (old != nullptr && old->size() >= operand.size() ? *old : operand).ToString();
    return true;
  }

 private:
  const char* name_;
};

class ByEnd final : public rocksdb::Comparator {
 public:
  [[nodiscard]] const char* Name() const override { return rocksdb::BytewiseComparator()->Name(); }
  [[nodiscard]] int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return reversed(a).compare(reversed(b));
  }
  void FindShortestSeparator(std::string*, const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static std::string reversed(const rocksdb::Slice& key) {
    const std::string text = key.ToString();
    return {text.rbegin(), text.rend()};
  }
};

class FirstLetter final : public rocksdb::SliceTransform {
 public:
  [[nodiscard]] const char* Name() const override { return "rocksdb.FixedPrefix.8"; }
  [[nodiscard]] rocksdb::Slice Transform(const rocksdb::Slice& key) const override { return {key.data(), 1}; }
  [[nodiscard]] bool InDomain(const rocksdb::Slice& key) const override { return !key.empty(); }
};

class DropSevens final : public rocksdb::CompactionFilter {
 public:
  [[nodiscard]] const char* Name() const override { return "DropSevens"; }
  bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice&, std::string*, bool*) const override {
    return key.ends_with("7");
  }
  bool FilterMergeOperand(int, const rocksdb::Slice& key, const rocksdb::Slice&) const override {
    return key.ends_with("7");
  }
};

class Collector final : public rocksdb::TablePropertiesCollector {
 public:
  rocksdb::Status AddUserKey(const rocksdb::Slice&, const rocksdb::Slice&, rocksdb::EntryType, rocksdb::SequenceNumber,
                             std::uint64_t) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(rocksdb::UserCollectedProperties* properties) override {
    properties->emplace("mine", "collected");
    return rocksdb::Status::OK();
  }
  [[nodiscard]] rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }
  [[nodiscard]] const char* Name() const override { return "Collector"; }
};
class CollectorFactory final : public rocksdb::TablePropertiesCollectorFactory {
 public:
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(
      rocksdb::TablePropertiesCollectorFactory::Context) override {
    return new Collector();
  }
  [[nodiscard]] const char* Name() const override { return "Collector"; }
};

}  // namespace

std::unique_ptr<rocksdb::MergeOperator> longest_named(const char* name) { return std::make_unique<Longest>(name); }

const rocksdb::Comparator* order_by_end() {
  static const ByEnd order;
  return &order;
}

std::shared_ptr<const rocksdb::SliceTransform> first_letter() { return std::make_shared<FirstLetter>(); }

const rocksdb::CompactionFilter* drop_sevens() {
  static const DropSevens filter;
  return &filter;
}

std::unique_ptr<rocksdb::TablePropertiesCollectorFactory> collector() { return std::make_unique<CollectorFactory>(); }

std::shared_ptr<rocksdb::MergeOperator> rocksdb_s_operator(const std::string& name) {
  std::shared_ptr<rocksdb::MergeOperator> made;
  if (!rocksdb::MergeOperator::CreateFromString({}, name, &made).ok()) throw std::runtime_error(name);
  return made;
}

const rocksdb::CompactionFilter* rocksdb_s_filter() {
  static const rocksdb::CompactionFilter* filter = [] {
    const rocksdb::CompactionFilter* made = nullptr;
    if (!rocksdb::CompactionFilter::CreateFromString({}, "RemoveEmptyValueCompactionFilter", &made).ok())
      throw std::runtime_error("RemoveEmptyValueCompactionFilter");
    return made;
  }();
  return filter;
}

std::shared_ptr<rocksdb::MergeOperator> append_by(const std::string& delimiter) {
  auto made = rocksdb_s_operator("stringappend");
  *made->GetOptions<std::string>("Delimiter") = delimiter;
  return made;
}

}  // namespace eco::test
