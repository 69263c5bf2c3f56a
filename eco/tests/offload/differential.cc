// eco-differential: makes the same writes to a database whose level 0 is compacted by a worker and to one without eco,
// for random option sets, and compares all keys. Prints the number of offloaded jobs, and of local ones by reason. Exit
// code 1: a difference, an error, or no job was offloaded.
#include <fmt/format.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "application_code.h"
#include "bench_bed.h"
#include "compat.h"

namespace {

using namespace eco::test;
using Random = std::mt19937_64;

void must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <typename T, std::size_t N>
const T& one_of(const std::array<T, N>& choices, Random& random) {
  return choices[random() % N];
}

bool one_in(std::uint64_t n, Random& random) { return random() % n == 0; }

// --- option sets

using Operator = std::shared_ptr<rocksdb::MergeOperator>;

struct Merge {
  const char* name;
  std::function<Operator()> make;
  bool of_numbers = false;  // its operands have 8 bytes
};

// A short run uses the first ones.
const std::array merges{
    Merge{"StringAppend by \" \"", [] { return append_by(" "); }},
    Merge{"own, named MaxOperator", [] { return longest_named("MaxOperator"); }},
    Merge{"StringAppend by \",\"", [] { return append_by(","); }},
    Merge{"no merge operator", [] { return nullptr; }},
    Merge{"own", [] { return longest_named("Longest"); }},
    Merge{"UInt64Add", [] { return rocksdb_s_operator("uint64add"); }, true},
    Merge{"Max", [] { return rocksdb_s_operator("max"); }},
    Merge{"StringAppend by \"--\"", [] { return append_by("--"); }},
    Merge{"StringAppend by nothing", [] { return append_by(""); }},
    Merge{"StringAppend by a tab", [] { return append_by("\t"); }},
    Merge{"StringAppend by \";\"", [] { return append_by(";"); }},
    Merge{"own, named StringAppendOperator", [] { return longest_named("StringAppendOperator"); }},
};

std::string choose_format(rocksdb::ColumnFamilyOptions& options, Random& random) {
  rocksdb::BlockBasedTableOptions table;
  table.block_size = one_of(std::array<std::size_t, 4>{512, 1024, 4096, 16384}, random);
  table.format_version = one_of(std::array<std::uint32_t, 3>{3, 4, 5}, random);
  table.checksum = one_of(std::array{rocksdb::kCRC32c, rocksdb::kxxHash64, rocksdb::kXXH3}, random);
  table.whole_key_filtering = !one_in(3, random);
  table.partition_filters = one_in(4, random);
  if (table.partition_filters || one_in(4, random))
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  if (one_in(4, random)) table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  switch (random() % 3) {
    case 0:
      table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(9.9));
      break;
    case 1:
      table.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(10));
      break;
    default:
      break;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return fmt::format("blocks of {}{}", table.block_size, table.filter_policy ? ", filters" : "");
}

std::string choose_order(rocksdb::ColumnFamilyOptions& options, Random& random) {
  std::string text;
  if (one_in(3, random)) options.comparator = rocksdb::ReverseBytewiseComparator(), text += ", reverse";
  if (one_in(12, random)) options.comparator = order_by_end(), text += ", own order";
  switch (random() % 8) {
    case 0:
    case 1:
      options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(5)), text += ", fixed prefix";
      break;
    case 2:
      options.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(4)), text += ", capped prefix";
      break;
    case 3:
      options.prefix_extractor = first_letter(), text += ", own prefix";
      break;
    default:
      break;
  }
  return text;
}

std::string choose_rest(rocksdb::ColumnFamilyOptions& options, Random& random) {
  std::string text;
  options.compression =
      one_of(std::array{rocksdb::kNoCompression, rocksdb::kSnappyCompression, rocksdb::kLZ4Compression, rocksdb::kZSTD},
             random);
  options.bottommost_compression = one_in(4, random) ? rocksdb::kZlibCompression : rocksdb::kDisableCompressionOption;
  options.optimize_filters_for_hits = one_in(4, random);
  options.level_compaction_dynamic_level_bytes = one_in(2, random);
  options.ttl = one_of(std::array<std::uint64_t, 3>{0, 3600, 86400}, random);
  if (one_in(12, random)) options.compaction_style = rocksdb::kCompactionStyleUniversal, text += ", universal";
  if (one_in(15, random)) options.preserve_internal_time_seconds = 1000, text += ", times kept";
  if (one_in(15, random)) options.last_level_temperature = rocksdb::Temperature::kCold, text += ", cold";
  // With merges, the result would depend on when a filter drops an empty value.
  if (one_in(10, random)) {
    options.compaction_filter = drop_sevens(), text += ", own filter";
  } else if (one_in(3, random) && !options.merge_operator) {
    options.compaction_filter = rocksdb_s_filter(), text += ", RocksDB's filter";
  }
  if (one_in(12, random)) options.table_properties_collector_factories.push_back(collector()), text += ", collector";
  return text;
}

struct FamilySet {
  rocksdb::ColumnFamilyOptions options;
  const Merge* merge = nullptr;
  std::string text;
};

FamilySet choose_family(const Merge& merge, Random& random) {
  FamilySet set{.options = small_tables(), .merge = &merge, .text = merge.name};
  set.options.merge_operator = merge.make();
  set.text += ", " + choose_format(set.options, random);
  set.text += choose_order(set.options, random);
  set.text += choose_rest(set.options, random);
  return set;
}

// --- a database

class Database {
 public:
  Database(rocksdb::Options options, const std::string& path,
           const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
    options.create_missing_column_families = true;
    eco::Opened opened{};
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    must(rocksdb::DB::Open(options, path, families, &handles, &opened));
    db_ = std::unique_ptr<rocksdb::DB>(std::move(opened));
    for (auto* handle : handles) families_.emplace_back(handle);
  }
  ~Database() { families_.clear(); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* family(std::size_t i) { return families_[i].get(); }

  // Compacts all of level 0, because a filter takes effect only when it has processed every key.
  void compact() {
    for (const auto& family : families_) {
      must(db_->Flush({}, family.get()));
      rocksdb::CompactRangeOptions all;
      all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
      must(db_->CompactRange(all, family.get(), nullptr, nullptr));
    }
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> families_;
};

std::string number(std::uint64_t value) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

std::string some_value(const Merge& merge, Random& random) {
  if (merge.of_numbers) return number(random() % 1000);
  if (one_in(20, random)) return "";
  return std::to_string(random()).substr(0, 1 + random() % 12) + std::string(random() % 60, 'v');
}

struct Write {
  std::uint64_t kind;
  std::string key, end, value;
};

Write some_write(const FamilySet& set, int keys, Random& random) {
  const auto pick = random() % static_cast<std::uint64_t>(keys);
  Write write{
      .kind = random() % 100, .key = fmt::format("key{:07}", pick), .end = "", .value = some_value(*set.merge, random)};
  write.end = fmt::format("key{:07}", pick + 20);
  return write;
}

void apply(Database& database, std::size_t i, const FamilySet& set, const Write& write) {
  auto& db = database.db();
  auto* family = database.family(i);
  const bool by_end = set.options.comparator == order_by_end();
  if (write.kind < 8) {
    must(db.Delete({}, family, write.key));
  } else if (write.kind == 8 && !by_end) {
    const bool reverse = set.options.comparator == rocksdb::ReverseBytewiseComparator();
    must(db.DeleteRange({}, family, reverse ? write.end : write.key, reverse ? write.key : write.end));
  } else if (write.kind < 40 && set.options.merge_operator) {
    must(db.Merge({}, family, write.key, write.value));
  } else if (write.kind < 50 && !set.options.merge_operator) {
    must(db.PutEntity({}, family, write.key, {{"", write.value}, {"column", write.key}}));
  } else {
    must(db.Put({}, family, write.key, write.value));
  }
}

std::string columns_of(const rocksdb::Iterator& iterator) {
  std::string text;
  for (const auto& column : iterator.columns())
    text += column.name().ToString() + '=' + column.value().ToString() + ';';
  return text;
}

// Returns the number of keys that differ, by a scan and by reads of single keys through filters and prefixes.
std::uint64_t differences(Database& plain, Database& offloaded, std::size_t i, const rocksdb::Snapshot* then_plain,
                          const rocksdb::Snapshot* then_offloaded) {
  rocksdb::ReadOptions read, other;
  read.total_order_seek = other.total_order_seek = true;
  read.snapshot = then_plain, other.snapshot = then_offloaded;
  const std::unique_ptr<rocksdb::Iterator> expected(plain.db().NewIterator(read, plain.family(i)));
  const std::unique_ptr<rocksdb::Iterator> found(offloaded.db().NewIterator(other, offloaded.family(i)));
  rocksdb::ReadOptions single;
  single.snapshot = then_offloaded;
  std::uint64_t count = 0;
  expected->SeekToFirst(), found->SeekToFirst();
  for (; expected->Valid() && found->Valid(); expected->Next(), found->Next()) {
    std::string value;
    const bool same = expected->key() == found->key() && columns_of(*expected) == columns_of(*found);
    const auto status = offloaded.db().Get(single, offloaded.family(i), expected->key(), &value);
    if (!same || !status.ok() || value != expected->value()) ++count;
  }
  count += expected->Valid() || found->Valid();
  must(expected->status()), must(found->status());
  return count;
}

struct Totals {
  std::uint64_t jobs = 0, installed = 0, fell_back = 0, kept = 0, keys = 0, differences = 0;
  std::map<std::string, std::uint64_t> kept_by, fell_back_by;
};

std::string run_set(int index, std::uint64_t seed, int keys, const std::string& worker, Totals& totals) {
  Random random(seed * 1'000'003 + static_cast<std::uint64_t>(index));
  rocksdb::Options options = small_tables();
  options.max_subcompactions = one_of(std::array<std::uint32_t, 3>{1, 2, 4}, random);
  std::vector<FamilySet> sets;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  const std::size_t count = 1 + random() % 3;
  for (std::size_t i = 0; i < count; ++i) {
    sets.push_back(choose_family(merges[(static_cast<std::size_t>(index) + i * 5) % merges.size()], random));
    families.emplace_back(i == 0 ? rocksdb::kDefaultColumnFamilyName : "family" + std::to_string(i), sets[i].options);
  }
  TemporaryFolder folder;
  Database plain(options, folder / "plain", families);
  const auto placer = std::make_shared<StubbornPlacer>(worker, 60);
  eco::Settings settings{.placer = placer, .column_families = families};
  const bool consents = one_in(2, random);
  if (consents) settings.same_code = {"Longest", "DropSevens", "Collector"};
  const auto service = eco::attach(options, settings);
  Database offloaded(options, folder / "offloaded", families);
  std::uint64_t different = 0;
  const rocksdb::Snapshot *then_plain = nullptr, *then_offloaded = nullptr;
  const auto snapshot = [&] { then_plain = plain.db().GetSnapshot(), then_offloaded = offloaded.db().GetSnapshot(); };
  // Filters ignore snapshots.
  const bool snapshots = one_in(3, random) && std::ranges::none_of(sets, [](const FamilySet& set) {
                           return set.options.compaction_filter != nullptr;
                         });
  for (int i = 0; i < keys; ++i) {
    if (snapshots && i == keys / 2) snapshot();
    const std::size_t family = random() % count;
    const Write write = some_write(sets[family], keys / 2, random);
    apply(plain, family, sets[family], write), apply(offloaded, family, sets[family], write);
  }
  for (int round = 0; round < 2; ++round) {
    plain.compact(), offloaded.compact();
    for (std::size_t i = 0; i < count; ++i) different += differences(plain, offloaded, i, then_plain, then_offloaded);
    if (then_plain == nullptr) break;
    plain.db().ReleaseSnapshot(then_plain), offloaded.db().ReleaseSnapshot(then_offloaded);
    then_plain = then_offloaded = nullptr;
  }
  const eco::Statistics statistics = service->statistics();
  totals.jobs += statistics.asked, totals.installed += statistics.installed;
  totals.kept += statistics.kept, totals.fell_back += statistics.fell_back;
  totals.differences += different;
  for (const auto& [reason, times] : statistics.kept_by) totals.kept_by[reason] += times;
  for (const auto& report : placer->reports())
    if (report.outcome().starts_with("fell back")) ++totals.fell_back_by[report.outcome()];
  std::string text = fmt::format("set {}: {} subcompactions{}, {} of {} jobs offloaded, {} fell back, {} differences",
                                 index, options.max_subcompactions, consents ? ", consent" : "", statistics.installed,
                                 statistics.asked, statistics.fell_back, different);
  for (const auto& set : sets) text += "\n    " + set.text;
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("compares databases with offloaded compactions with databases without");
  int sets = 200, keys = 100'000, first = 0;
  std::uint64_t seed = 1;
  bool quiet = false;
  app.add_option("--sets", sets, "option sets")->capture_default_str();
  app.add_option("--first", first, "number of the first one")->capture_default_str();
  app.add_option("--keys", keys, "writes to each database")->capture_default_str();
  app.add_option("--seed", seed, "of the sets and writes")->capture_default_str();
  app.add_flag("--quiet", quiet, "no line for each set");
  CLI11_PARSE(app, argc, argv);
  try {
    TemporaryFolder folder;
    setenv("LD_PRELOAD", ECO_WORKER_CODE, 1);  // for the worker
    WorkerProcess worker(folder / "scratch", {"--slots", "4"});
    unsetenv("LD_PRELOAD");
    Totals totals;
    for (int i = first; i < first + sets; ++i) {
      const std::string text = run_set(i, seed, keys, worker.address(), totals);
      if (!quiet) fmt::print("{}\n", text);
      std::fflush(stdout);
    }
    fmt::print("seed {}: {} option sets of {} writes: {} jobs, {} offloaded, {} fell back, {} kept; {} differences\n",
               seed, sets, keys, totals.jobs, totals.installed, totals.fell_back, totals.kept, totals.differences);
    for (const auto& [reason, times] : totals.kept_by) fmt::print("{:6} kept: {}\n", times, reason);
    for (const auto& [reason, times] : totals.fell_back_by) fmt::print("{:6} {}\n", times, reason);
    return totals.differences == 0 && totals.installed > 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "eco-differential: {}\n", error.what());
    return 1;
  }
}
