#include "verification.h"

#include <fmt/format.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include <cstring>
#include <memory>
#include <set>

namespace eco {
namespace {

using rocksdb::Slice;

// An internal key is the user key and 8 bytes: sequence * 256 + type, least significant byte first.
struct InternalKey {
  explicit InternalKey(const std::string& key) : user(key.data(), key.size() - 8) {
    for (std::size_t i = 0; i < 8; ++i)
      trailer |= std::uint64_t{static_cast<unsigned char>(key[key.size() - 8 + i])} << (8 * i);
  }
  Slice user;
  std::uint64_t trailer = 0;
};

// The user key at an iterator's position; nothing: the iterator is not valid.
std::optional<std::string> key_at(const rocksdb::Iterator& iterator) {
  if (!iterator.Valid()) return std::nullopt;
  return iterator.key().ToString();
}

class Check {
 public:
  Check(const CompactionResult& result, const std::map<std::string, TableFacts>& tables, const Expectation& expected)
      : result_(result), tables_(tables), expected_(expected) {}

  [[nodiscard]] std::string why_not() const {
    if (result_.code != 0) return fmt::format("RocksDB's status there was {}: {}", result_.code, result_.message);
    if (result_.folder != expected_.folder) return "it names another folder: " + result_.folder;
    if (result_.output_level != expected_.output_level)
      return fmt::format("it is for level {}, not {}", result_.output_level, expected_.output_level);
    if (result_.corrupt_keys != 0) return fmt::format("{} keys were corrupt there", result_.corrupt_keys);
    for (const auto check : {&Check::presence, &Check::times, &Check::counts, &Check::order})
      if (std::string why = (this->*check)(); !why.empty()) return why;
    return "";
  }

 private:
  [[nodiscard]] std::string presence() const {
    std::set<std::string> names, ids;
    for (const auto& table : result_.tables) {
      if (!names.insert(table.name).second) return table.name + " comes twice";
      if (!ids.insert(table.unique_id).second) return table.name + " has the identity of another table";
      if (!tables_.contains(table.name)) return table.name + " did not arrive";
      if (table.smallest.size() < 8 || table.largest.size() < 8) return table.name + " has no range";
      if (table.smallest_sequence > table.largest_sequence || table.largest_sequence > expected_.latest_sequence)
        return table.name + " is newer than the database";
    }
    if (names.size() != tables_.size())
      return fmt::format("{} tables arrived, the result lists {}", tables_.size(), names.size());
    return "";
  }

  // RocksDB schedules periodic compactions and expires tables by these times.
  [[nodiscard]] std::string times() const {
    constexpr std::int64_t slack_s = 1;  // times are truncated to seconds
    for (const auto& table : result_.tables)
      for (const std::uint64_t time : {table.created_s, tables_.at(table.name).created_s}) {
        const auto created_s = static_cast<std::int64_t>(time);
        if (created_s < expected_.begun_s - slack_s)
          return fmt::format("the worker's clock is {} s behind the clock here", expected_.begun_s - created_s);
        if (created_s > expected_.now_s + slack_s)
          return fmt::format("the worker's clock is {} s ahead of the clock here", created_s - expected_.now_s);
      }
    return "";
  }

  [[nodiscard]] std::string counts() const {
    std::uint64_t bytes = 0, records = 0;
    for (const auto& [name, facts] : tables_) bytes += facts.bytes, records += facts.entries - facts.range_deletions;
    if (bytes != result_.bytes) return fmt::format("{} bytes arrived, the result states {}", bytes, result_.bytes);
    if (records != result_.records)
      return fmt::format("{} entries arrived, the result states {}", records, result_.records);
    for (const auto& table : result_.tables) {
      const TableFacts& facts = tables_.at(table.name);
      if (table.entries.value_or(facts.entries) != facts.entries ||
          table.range_deletions.value_or(facts.range_deletions) != facts.range_deletions)
        return table.name + " has other entries than the result states";
    }
    const auto &stated = result_.input_records, &counted = expected_.input_records;
    if (stated && counted && *stated != *counted)
      return fmt::format("{} entries went in, the result states {}", *counted, *stated);
    const std::uint64_t consumed = result_.records + result_.replaced + result_.expired;
    if (expected_.entries_max && consumed > *expected_.entries_max)
      return fmt::format("{} entries went in at most, {} are accounted for", *expected_.entries_max, consumed);
    if (const auto& input = counted ? counted : stated;
        input && expected_.accountable && result_.single_delete_mismatches == 0 && consumed != *input)
      return fmt::format("{} entries went in, {} are accounted for", *input, consumed);
    return "";
  }

  [[nodiscard]] std::string order() const {
    const auto compare = [this](const Slice& a, const Slice& b) { return expected_.comparator->Compare(a, b); };
    const OutputTable* previous = nullptr;
    for (const auto& table : result_.tables) {
      const InternalKey smallest(table.smallest), largest(table.largest);
      if (compare(smallest.user, largest.user) > 0) return table.name + " ends before it begins";
      const TableFacts& facts = tables_.at(table.name);
      if ((facts.first && compare(*facts.first, smallest.user) < 0) ||
          (facts.last && compare(*facts.last, largest.user) > 0))
        return table.name + " has keys out of its range";
      if (expected_.begin && compare(smallest.user, *expected_.begin) < 0) return table.name + " begins before the job";
      // A range deletion may end at the end of the job's range.
      if (expected_.end && compare(largest.user, *expected_.end) > 0) return table.name + " ends after the job";
      if (previous != nullptr) {
        const InternalKey before(previous->largest);
        const int c = compare(before.user, smallest.user);
        if (c > 0 || (c == 0 && before.trailer <= smallest.trailer))
          return fmt::format("{} and {} overlap", previous->name, table.name);
      }
      previous = &table;
    }
    return "";
  }

  const CompactionResult& result_;
  const std::map<std::string, TableFacts>& tables_;
  const Expectation& expected_;
};

}  // namespace

std::optional<TableFacts> verify_table(const rocksdb::Options& options, const std::string& path, std::string& why) {
  TableFacts facts;
  rocksdb::SstFileReader reader(options);
  rocksdb::Status status = reader.Open(path);
  rocksdb::ReadOptions read;
  read.fill_cache = false, read.verify_checksums = true, read.readahead_size = 64 << 10;  // fits in a core's cache
  if (status.ok()) status = reader.VerifyChecksum(read);
  if (status.ok()) status = options.env->GetFileSize(path, &facts.bytes);
  if (status.ok()) {
    read.readahead_size = 0, read.total_order_seek = true;
    const std::unique_ptr<rocksdb::Iterator> iterator(reader.NewIterator(read));
    iterator->SeekToFirst();
    facts.first = key_at(*iterator);
    if (iterator->status().ok()) iterator->SeekToLast();
    facts.last = key_at(*iterator);
    status = iterator->status();
  }
  if (!status.ok()) {
    why = status.ToString();
    return std::nullopt;
  }
  const auto properties = reader.GetTableProperties();
  facts.entries = properties->num_entries, facts.range_deletions = properties->num_range_deletions;
  facts.created_s = properties->file_creation_time;
  return facts;
}

std::string verify_result(const CompactionResult& result, const std::map<std::string, TableFacts>& tables,
                          const Expectation& expected) {
  return Check(result, tables, expected).why_not();
}

}  // namespace eco
