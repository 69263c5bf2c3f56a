// A worker produces the same contents as the local RocksDB: jobs that it could compact differently stay local.
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/system_clock.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/db_ttl.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "application_code.h"
#include "bench_bed.h"
#include "compat.h"

namespace {

using namespace eco::test;
using Difference = Bed::Difference;

// A worker and a database that offloads to it.
class Home {
 public:
  explicit Home(rocksdb::Options options = small_tables(), eco::Settings settings = {}, Wire::ToWorker to_worker = {})
      : plain(options), wire(worker.address(), {}, std::move(to_worker)) {
    settings.placer = placer = std::make_shared<StubbornPlacer>(wire.address(), 30);
    service = eco::attach(options, settings);
    bed = std::make_unique<Bed>(folder / "db", options);
  }

  rocksdb::DB& db() { return bed->db(); }
  eco::Statistics close(std::uint64_t seed, int operations = 60000) {
    bed->write(operations, seed);
    bed->settle();
    EXPECT_EQ(bed->difference(), Difference{});
    EXPECT_EQ(bed->background_errors(), 0U);
    return service->statistics();
  }
  std::string value(const std::string& key) {
    std::string value;
    const auto status = db().Get({}, key, &value);
    return status.ok() ? value : status.ToString();
  }

  rocksdb::Options plain;  // without eco
  TemporaryFolder folder;
  WorkerProcess worker{folder / "scratch"};
  Wire wire;
  std::shared_ptr<StubbornPlacer> placer;
  std::shared_ptr<eco::CompactionService> service;
  std::unique_ptr<Bed> bed;
};

// The number of compactions depends on the machine's load: a slow one takes more tables at once.
void expect_all_kept(const eco::Statistics& statistics, const std::string& reason) {
  EXPECT_GE(statistics.kept, 1U);
  EXPECT_EQ(statistics.fell_back + statistics.installed, 0U);
  EXPECT_NE(statistics.last_reason.find(reason), std::string::npos) << statistics.last_reason;
}

void expect_all_installed(const eco::Statistics& statistics) {
  EXPECT_GE(statistics.installed, 1U) << statistics.last_reason;
  EXPECT_EQ(statistics.fell_back + statistics.kept, 0U) << statistics.last_reason;
}

// Merges "a", "b" and "c" into a key between others, in three tables, and compacts them.
std::string merged_abc(Home& home, std::uint64_t seed, eco::Statistics& statistics) {
  const std::string key = "key1025-merged";
  for (const char* operand : {"a", "b", "c"}) {
    EXPECT_TRUE(home.db().Merge({}, key, operand).ok());
    home.bed->write(4000, seed++);
    home.bed->flush();
  }
  statistics = home.close(seed, 20000);
  return home.value(key);
}

TEST(Values, of_a_merge_operator_whose_text_loses_its_delimiter_are_those_of_the_application) {
  for (const std::string delimiter : {" ", "", " ,"}) {
    rocksdb::Options options = small_tables();
    options.merge_operator = append_by(delimiter);
    Home home(options);
    eco::Statistics statistics;
    EXPECT_EQ(merged_abc(home, 31, statistics), "a" + delimiter + "b" + delimiter + "c");
    expect_all_kept(statistics, "delimiter");
  }
}

TEST(Values, of_merge_operators_whose_text_holds_are_offloaded) {
  for (const std::string delimiter : {",", "--"}) {
    rocksdb::Options options = small_tables();
    options.merge_operator = append_by(delimiter);
    Home home(options);
    eco::Statistics statistics;
    EXPECT_EQ(merged_abc(home, 32, statistics), "a" + delimiter + "b" + delimiter + "c");
    expect_all_installed(statistics);
  }
}

TEST(Values, of_an_application_s_merge_operator_with_a_name_of_rocksdb_s_are_the_application_s) {
  for (const char* name : {"StringAppendOperator", "MaxOperator", "PutOperator"}) {
    rocksdb::Options options = small_tables();
    options.merge_operator = longest_named(name);
    Home home(options);
    eco::Statistics statistics;
    EXPECT_EQ(merged_abc(home, 33, statistics), "a") << name;
    expect_all_kept(statistics, name);
  }
}

TEST(Values, under_an_application_s_prefixes_with_a_name_of_rocksdb_s_are_found) {
  rocksdb::Options options = small_tables();
  options.prefix_extractor = first_letter();
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.whole_key_filtering = false;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  Home home(options);
  expect_all_kept(home.close(34), "prefix");
}

TEST(Values, in_an_application_s_order_with_a_name_of_rocksdb_s_are_found) {
  rocksdb::Options options = small_tables();
  options.comparator = order_by_end();
  Home home(options);
  expect_all_kept(home.close(35), "comparator");
}

struct TwoFamilies {
  TemporaryFolder folder;
  WorkerProcess worker{folder / "scratch"};
  std::shared_ptr<StubbornPlacer> placer = std::make_shared<StubbornPlacer>(worker.address(), 30);
  std::shared_ptr<eco::CompactionService> service;
  std::unique_ptr<rocksdb::DB> db;
  std::unique_ptr<rocksdb::ColumnFamilyHandle> standard, other;

  // The default family with `options`, another one with `other_options`.
  TwoFamilies(rocksdb::Options options, const rocksdb::ColumnFamilyOptions& other_options) {
    service = eco::attach(options, {.placer = placer, .column_families = {{"other", other_options}}});
    options.create_missing_column_families = true;
    const std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, options},
                                                                {"other", other_options}};
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    eco::Opened opened{};
    const auto status = rocksdb::DB::Open(options, folder / "db", families, &handles, &opened);
    EXPECT_TRUE(status.ok()) << status.ToString();
    db = std::unique_ptr<rocksdb::DB>(std::move(opened));
    standard.reset(handles.at(0)), other.reset(handles.at(1));
  }
  ~TwoFamilies() { standard.reset(), other.reset(); }

  void fill(rocksdb::ColumnFamilyHandle& family, const std::string& value, int keys = 30000) {
    for (int i = 0; i < keys; ++i)
      ASSERT_TRUE(db->Put({}, &family, "key" + std::to_string(100000 + i * 7919 % keys), value).ok());
    ASSERT_TRUE(db->Flush({}, &family).ok());
    for (std::uint64_t left = 1; left > 0;) {
      std::uint64_t pending = 0, running = 0;
      (void)db->GetIntProperty(&family, "rocksdb.compaction-pending", &pending);
      (void)db->GetIntProperty("rocksdb.num-running-compactions", &running);
      left = pending + running;
    }
  }
};

TEST(Values, of_table_properties_of_another_column_family_are_collected) {
  rocksdb::ColumnFamilyOptions collects = small_tables();
  collects.table_properties_collector_factories.push_back(collector());
  TwoFamilies families(small_tables(), collects);
  families.fill(*families.other, std::string(100, 'v'));
  rocksdb::TablePropertiesCollection tables;
  ASSERT_TRUE(families.db->GetPropertiesOfAllTables(families.other.get(), &tables).ok());
  ASSERT_FALSE(tables.empty());
  for (const auto& [path, properties] : tables)
    EXPECT_EQ(properties->user_collected_properties.count("mine"), 1U) << path;
  expect_all_kept(families.service->statistics(), "Collector");
}

TEST(Values, in_the_reverse_order_with_subcompactions_are_offloaded) {
  rocksdb::Options options = small_tables();
  options.comparator = rocksdb::ReverseBytewiseComparator();
  options.max_subcompactions = 4;
  Home home(options);
  expect_all_installed(home.close(36));
  double share = 0;
  for (const auto& request : home.placer->requests())
    share = std::max(share, static_cast<double>(request.features().input_bytes()));
  EXPECT_GT(share, 0);
}

TEST(Values, of_a_family_in_the_reverse_order_with_subcompactions_are_right) {
  rocksdb::Options options = small_tables();
  options.max_subcompactions = 4;
  rocksdb::ColumnFamilyOptions reverse = small_tables();
  reverse.comparator = rocksdb::ReverseBytewiseComparator();
  TwoFamilies families(options, reverse);
  families.fill(*families.standard, "standard");
  families.fill(*families.other, "other");
  std::string value;
  for (int i = 0; i < 30000; i += 7) {
    ASSERT_TRUE(families.db->Get({}, families.other.get(), "key" + std::to_string(100000 + i), &value).ok());
    EXPECT_EQ(value, "other");
  }
}

// Requests a placement for every job, and offloads none.
class ShadowPlacer final : public eco::Placer {
 public:
  [[nodiscard]] eco::proto::Placement place(const eco::proto::PlaceRequest&) override {
    eco::proto::Placement placement;
    placement.set_offload(true), placement.set_shadow(true);
    ++asked;
    return placement;
  }
  void report(const eco::proto::JobReport&) override {}
  std::atomic<int> asked = 0;
};

TEST(Values, in_the_reverse_order_with_subcompactions_are_right_in_shadow_mode) {
  rocksdb::Options options = small_tables();
  options.comparator = rocksdb::ReverseBytewiseComparator();
  options.max_subcompactions = 4;
  TemporaryFolder folder;
  const auto placer = std::make_shared<ShadowPlacer>();
  const auto service = eco::attach(options, {.placer = placer});
  Bed bed(folder / "db", options);
  bed.write(60000, 38);
  bed.settle();
  EXPECT_EQ(bed.difference(), Difference{});
  EXPECT_GT(placer->asked, 3);
}

// The result of a remote job does not list the blob files that its tables need.
TEST(Values, in_blob_files_of_earlier_options_are_kept) {
  rocksdb::Options blobs = small_tables();
  blobs.enable_blob_files = true;
  blobs.disable_auto_compactions = true;
  TemporaryFolder folder;
  {
    Bed bed(folder / "db", blobs);
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(bed.db().Put({}, "blob" + std::to_string(i), std::string(1000, 'b')).ok());
    }
    bed.flush();
  }
  WorkerProcess worker(folder / "scratch");
  rocksdb::Options options = small_tables();
  const auto service = eco::attach(options, {.placer = std::make_shared<StubbornPlacer>(worker.address(), 30)});
  options.error_if_exists = false;
  Bed bed(folder / "db", options);
  bed.write(60000, 37);
  bed.settle();
  // With a newer referenced blob file, RocksDB deletes older unreferenced ones.
  ASSERT_TRUE(bed.db().SetOptions({{"enable_blob_files", "true"}}).ok());
  ASSERT_TRUE(bed.db().Put({}, "zz", std::string(1000, 'z')).ok());
  bed.flush();
  bed.reopen(small_tables());
  std::string value;
  for (int i = 0; i < 100; ++i) {
    const auto status = bed.db().Get({}, "blob" + std::to_string(i), &value);
    ASSERT_TRUE(status.ok()) << i << ": " << status.ToString();
  }
  expect_all_kept(service->statistics(), "blob files");
}

TEST(Values, under_deleted_ranges_that_end_in_several_tables_are_offloaded) {
  Home home;
  const auto key = [](int i) { return "key" + std::to_string(100000 + i); };
  for (int round = 0; round < 6; ++round) {
    ASSERT_TRUE(home.db().DeleteRange({}, home.db().DefaultColumnFamily(), key(100), key(4900)).ok());
    for (int i = 0; i < 5000; ++i)
      ASSERT_TRUE(home.db().Put({}, key(i), std::to_string(round) + std::string(100, 'v')).ok());
  }
  home.bed->settle();
  EXPECT_EQ(home.value(key(2000)), '5' + std::string(100, 'v'));
  const auto statistics = home.service->statistics();
  EXPECT_GE(statistics.installed, 1U);
  EXPECT_EQ(statistics.fell_back + statistics.kept, 0U) << statistics.last_reason;
}

rocksdb::Options own_objects() {
  rocksdb::Options options = small_tables();
  options.merge_operator = longest_named("Longest");
  options.compaction_filter = drop_sevens();
  options.table_properties_collector_factories.push_back(collector());
  return options;
}

#ifdef ECO_WORKER_CODE
// Workers started during its lifetime load the application's code.
class OwnCode {
 public:
  OwnCode() { setenv("LD_PRELOAD", ECO_WORKER_CODE, 1); }
  ~OwnCode() { unsetenv("LD_PRELOAD"); }
  OwnCode(const OwnCode&) = delete;
  OwnCode& operator=(const OwnCode&) = delete;
};

TEST(Consent, to_the_same_code_offloads_what_is_the_application_s_own) {
  std::unique_ptr<Home> home;
  {
    const OwnCode loaded;
    home = std::make_unique<Home>(own_objects(), eco::Settings{.same_code = {"Longest", "DropSevens", "Collector"}});
  }
  const std::string key = "key1025-merged";
  for (int i = 0; i < 9; ++i) {
    for (const char* operand : {"a", "longest", "b"}) ASSERT_TRUE(home->db().Merge({}, key, operand).ok());
    for (int k = 0; k < 3000; ++k)
      ASSERT_TRUE(home->db().Put({}, "key" + std::to_string(100000 + k), std::string(100, 'v')).ok());
  }
  home->bed->flush();
  ASSERT_TRUE(home->db().CompactRange({}, nullptr, nullptr).ok());
  EXPECT_EQ(home->value(key), "longest");
  EXPECT_EQ(home->value("key100007"), "NotFound: ");
  EXPECT_EQ(home->value("key100008"), std::string(100, 'v'));
  rocksdb::TablePropertiesCollection tables;
  ASSERT_TRUE(home->db().GetPropertiesOfAllTables(&tables).ok());
  for (const auto& [path, properties] : tables)
    EXPECT_EQ(properties->user_collected_properties.count("mine"), 1U) << path;
  expect_all_installed(home->service->statistics());
}

#endif

TEST(Consent, to_code_that_a_worker_lacks_is_refused_by_its_name) {
  Home home(own_objects(), eco::Settings{.same_code = {"Longest", "DropSevens", "Collector"}});
  home.bed->flush();
  for (int k = 0; k < 20000; ++k)
    ASSERT_TRUE(home.db().Put({}, "key" + std::to_string(100000 + k % 3000), std::string(100, 'v')).ok());
  home.bed->settle();
  EXPECT_EQ(home.value("key100008"), std::string(100, 'v'));
  const auto statistics = home.service->statistics();
  EXPECT_EQ(statistics.installed, 0U);
  EXPECT_GT(statistics.fell_back, 0U);
  EXPECT_NE(statistics.last_reason.find("Longest is not known here"), std::string::npos) << statistics.last_reason;
}

// Expects that a plain database is offloaded by this placer, whatever happened to another database.
void expect_offloaded(const std::shared_ptr<eco::Placer>& placer, const std::string& path) {
  rocksdb::Options options = small_tables();
  const auto service = eco::attach(options, {.placer = placer});
  Bed bed(path, options);
  bed.write(60000, 51);
  bed.settle();
  EXPECT_EQ(bed.difference(), Difference{});
  expect_all_installed(service->statistics());
}

TEST(Consent, that_a_worker_cannot_honour_takes_offloading_from_no_other_database) {
  TemporaryFolder folder;
  const WorkerProcess worker(folder / "scratch");
  const auto placer = std::make_shared<eco::FixedPlacer>(worker.address());
  rocksdb::Options options = own_objects();
  const auto service = eco::attach(options, {.placer = placer, .same_code = {"Longest", "DropSevens", "Collector"}});
  Bed bed(folder / "db", options);
  for (int k = 0; k < 20000; ++k)
    ASSERT_TRUE(bed.db().Put({}, "key" + std::to_string(100000 + k % 3000), std::string(100, 'v')).ok());
  bed.settle();
  const auto statistics = service->statistics();
  EXPECT_GT(statistics.fell_back, 0U);
  EXPECT_GT(statistics.kept, 0U);
  EXPECT_EQ(statistics.last_reason,
            worker.address() + " refused jobs of this database and gets none of them for a while");
  expect_offloaded(placer, folder / "other");
}

// DBWithTTL registers its compaction filter only in its process, so RocksDB cannot create it by name elsewhere.
TEST(Values, of_a_database_with_a_time_to_live_stay_here_and_take_offloading_from_no_other_database) {
  TemporaryFolder folder;
  const WorkerProcess worker(folder / "scratch");
  const auto placer = std::make_shared<eco::FixedPlacer>(worker.address());
  rocksdb::Options options = small_tables();
  const auto service = eco::attach(options, {.placer = placer});
  rocksdb::DBWithTTL* opened = nullptr;
  ASSERT_TRUE(rocksdb::DBWithTTL::Open(options, folder / "db", &opened, 100'000).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (int k = 0; k < 20000; ++k)
    ASSERT_TRUE(db->Put({}, "key" + std::to_string(100000 + k * 7919 % 5000), std::string(100, 'v')).ok());
  ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  std::string value;
  ASSERT_TRUE(db->Get({}, "key100007", &value).ok());
  EXPECT_EQ(value, std::string(100, 'v'));
  expect_all_kept(service->statistics(),
                  "its compaction filter factory TtlCompactionFilterFactory is registered only in this process");
  expect_offloaded(placer, folder / "other");
}

// An object or an option of the input changes on the way to the worker (7.8; 9.10 has options in a file).
TEST(Values, of_options_that_differ_at_the_worker_are_refused_by_the_option_s_name) {
  const auto change_input = [](eco::proto::Start& start) {
    std::string text = start.input();
    const std::string from = "target_file_size_multiplier=1;";
    const auto at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), "target_file_size_multiplier=01;");
    start.set_input(text);
  };
  std::vector<std::pair<std::string, std::function<void(eco::proto::Start&)>>> changes{
      {"merge_operator", [](eco::proto::Start& start) { start.mutable_table()->set_merge_operator("max"); }},
      {"prefix_extractor", [](eco::proto::Start& start) { start.mutable_table()->clear_prefix_extractor(); }},
      {"comparator",
       [](eco::proto::Start& start) { start.mutable_table()->set_comparator("rocksdb.ReverseBytewiseComparator"); }},
  };
  if (eco::compiled_release() == "7.8") changes.emplace_back("target_file_size_multiplier", change_input);
  rocksdb::Options options = small_tables();
  options.merge_operator = append_by(",");
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(6));
  for (const auto& [name, change] : changes) {
    Home home(options, {}, [&](int, eco::proto::FromPrimary& message) {
      if (message.has_start()) change(*message.mutable_start());
      return Wire::Fate::pass;
    });
    const auto statistics = home.close(39, 20000);
    EXPECT_EQ(statistics.installed, 0U);
    EXPECT_GT(statistics.fell_back, 0U);
    EXPECT_NE(statistics.last_reason.find("option " + name), std::string::npos) << statistics.last_reason;
  }
}

// A database's clock that differs from the worker's.
class EnvAhead final : public rocksdb::EnvWrapper {
 public:
  explicit EnvAhead(std::int64_t ahead_s) : EnvWrapper(rocksdb::Env::Default()) {
    file_system_ = rocksdb::FileSystem::Default();
    system_clock_ = std::make_shared<Clock>(ahead_s);
  }

 private:
  class Clock final : public rocksdb::SystemClockWrapper {
   public:
    explicit Clock(std::int64_t ahead_s) : SystemClockWrapper(rocksdb::SystemClock::Default()), ahead_s_(ahead_s) {}
    [[nodiscard]] const char* Name() const override { return "ahead"; }
    rocksdb::Status GetCurrentTime(std::int64_t* time_s) override {
      const auto status = target_->GetCurrentTime(time_s);
      *time_s += ahead_s_;
      return status;
    }

   private:
    std::int64_t ahead_s_;
  };
};

TEST(Times, of_tables_are_by_the_clock_of_the_database_where_the_worker_s_is_wrong) {
  for (const std::int64_t ahead_s : {3600, -31'536'000}) {
    EnvAhead env(ahead_s);
    rocksdb::Options options = small_tables();
    options.env = &env;
    const auto now_s = [&] {
      std::int64_t time_s = 0;
      EXPECT_TRUE(env.GetSystemClock()->GetCurrentTime(&time_s).ok());
      return static_cast<std::uint64_t>(time_s);
    };
    const std::uint64_t begun_s = now_s();
    Home home(options);
    expect_all_installed(home.close(43));
    std::vector<rocksdb::LiveFileMetaData> files;
    home.db().GetLiveFilesMetaData(&files);
    rocksdb::TablePropertiesCollection tables;
    ASSERT_TRUE(home.db().GetPropertiesOfAllTables(&tables).ok());
    for (const auto& file : files) {
      const auto& properties = *tables.at(file.directory + '/' + file.relative_filename);
      for (const std::uint64_t time_s :
           {file.file_creation_time, file.oldest_ancester_time, properties.file_creation_time}) {
        EXPECT_GE(time_s, begun_s - 1) << file.relative_filename;
        EXPECT_LE(time_s, now_s()) << file.relative_filename;
      }
    }
  }
}

// A worker of an earlier eco release ignores the job's time.
TEST(Times, by_a_worker_s_wrong_clock_are_refused_with_the_difference) {
  Home home(small_tables(), {}, [](int, eco::proto::FromPrimary& message) {
    if (message.has_start()) message.mutable_start()->set_unix_time_s(message.start().unix_time_s() - 3600);
    return Wire::Fate::pass;
  });
  const auto statistics = home.close(44);
  EXPECT_EQ(statistics.installed, 0U);
  EXPECT_GT(statistics.fell_back, 2U);
  // The second may change between the two clocks.
  const std::regex reason("the worker's clock is (3600|3599) s behind the clock here");
  EXPECT_TRUE(std::regex_search(statistics.last_reason, reason)) << statistics.last_reason;
}

}  // namespace
