#include <gtest/gtest.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/table.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "bench_bed.h"
#include "certificates.h"
#include "check.h"
#include "compat.h"
#include "shared_folder.h"
#include "worker.h"

namespace {

using namespace eco::test;
using Difference = Bed::Difference;

TEST(Offload, a_worker_process_compacts_level_0_and_every_key_is_read_back) {
  TemporaryFolder folder;
  WorkerProcess worker(folder / "scratch");
  rocksdb::Options options = small_tables();
  const auto placer = std::make_shared<StubbornPlacer>(worker.address());
  const auto service = eco::attach(options, {.placer = placer});
  Bed bed(folder / "db", options);
  bed.write(60000, 1);
  bed.settle();
  const eco::Statistics statistics = service->statistics();
  EXPECT_GE(statistics.installed, 1U) << statistics.last_reason;
  EXPECT_EQ(statistics.fell_back, 0U) << statistics.last_reason;
  EXPECT_EQ(statistics.kept, 0U) << statistics.last_reason;
  EXPECT_EQ(bed.difference(), Difference{});
  bed.reopen(small_tables());
  EXPECT_EQ(bed.difference(), Difference{});
  EXPECT_TRUE(bed.db().VerifyChecksum().ok());
  EXPECT_EQ(bed.background_errors(), 0U);
  EXPECT_FALSE(std::filesystem::exists(folder / "db/eco-staging"));
}

constexpr double patient_s = 30;  // long, because a busy machine is slow and no test here is of slow workers

// A worker and a database that offloads to it.
class Offloading {
 public:
  explicit Offloading(rocksdb::Options options = small_tables(), const std::vector<std::string>& worker_arguments = {},
                      eco::Settings settings = {}, Wire::ToPrimary to_primary = {}, Wire::ToWorker to_worker = {},
                      bool data_channels = true)
      : plain(options),
        worker(folder / "scratch", worker_arguments),
        wire(worker.address(), std::move(to_primary), std::move(to_worker), data_channels) {
    settings.placer = placer =
        std::make_shared<StubbornPlacer>(settings.tls.none() ? wire.address() : worker.address(), patient_s);
    service = eco::attach(options, settings);
    bed = std::make_unique<Bed>(folder / "db", options);
  }

  // Expects that nothing was lost. Returns the jobs' statistics.
  eco::Statistics close() {
    bed->settle();
    EXPECT_EQ(bed->difference(), Difference{});
    bed->reopen(plain);
    EXPECT_EQ(bed->difference(), Difference{});
    EXPECT_TRUE(bed->db().VerifyChecksum().ok());
    EXPECT_EQ(bed->background_errors(), 0U);
    EXPECT_FALSE(std::filesystem::exists(folder / "db/eco-staging"));
    return service->statistics();
  }

  rocksdb::Options plain;  // without eco
  TemporaryFolder folder;
  WorkerProcess worker;
  Wire wire;
  std::shared_ptr<StubbornPlacer> placer;
  std::shared_ptr<eco::CompactionService> service;
  std::unique_ptr<Bed> bed;
};

void expect_all_installed(const eco::Statistics& statistics) {
  EXPECT_GE(statistics.installed, 1U) << statistics.last_reason;
  EXPECT_EQ(statistics.fell_back + statistics.kept, 0U) << statistics.last_reason;
}

void expect_all_kept(const eco::Statistics& statistics, const std::string& reason) {
  EXPECT_GT(statistics.kept, 2U);
  EXPECT_EQ(statistics.fell_back + statistics.installed, 0U);
  EXPECT_NE(statistics.last_reason.find(reason), std::string::npos) << statistics.last_reason;
}

TEST(Offload, tables_go_beside_the_stream_and_over_it_where_they_cannot) {
  for (const bool data_channels : {true, false}) {
    Offloading offloading(small_tables(), {}, {}, {}, {}, data_channels);
    offloading.bed->write(60000, 18);
    expect_all_installed(offloading.close());
    EXPECT_EQ(offloading.wire.beside_streams() > 0, data_channels);
    EXPECT_EQ(offloading.wire.on_streams() > 0, !data_channels);
  }
}

TEST(Offload, a_data_connection_that_cannot_be_opened_is_tried_once_and_costs_no_job) {
  std::atomic<int> offers = 0;
  Offloading offloading(small_tables(), {}, {}, [&](int, eco::proto::FromWorker& message) {
    if (!message.has_offer()) return Wire::Fate::pass;
    ++offers;
    message.mutable_offer()->set_port(1);  // no listener there
    return Wire::Fate::pass;
  });
  offloading.bed->write(60000, 22);
  expect_all_installed(offloading.close());
  EXPECT_EQ(offers, 1);
  EXPECT_EQ(offloading.wire.beside_streams(), 0);
}

TEST(Offload, a_column_family_is_offloaded_where_it_is_named) {
  TemporaryFolder folder;
  WorkerProcess worker(folder / "scratch");
  const auto placer = std::make_shared<StubbornPlacer>(worker.address());
  rocksdb::Options options = small_tables();
  const auto service = eco::attach(options, {.placer = placer, .column_families = {{"named", small_tables()}}});
  eco::Opened opened{};
  ASSERT_TRUE(rocksdb::DB::Open(options, folder / "db", &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(std::move(opened));
  std::map<std::string, std::unique_ptr<rocksdb::ColumnFamilyHandle>> families;
  for (const char* name : {"named", "other"}) {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    ASSERT_TRUE(db->CreateColumnFamily(small_tables(), name, &handle).ok());
    families[name].reset(handle);
  }
  const auto key = [](int i) { return "key" + std::to_string(100000 + i * 7919 % 30000); };
  const auto fill = [&](const char* name) {
    for (int i = 0; i < 30000; ++i)
      if (!db->Put({}, families[name].get(), key(i), name + std::string(100, 'v')).ok()) return false;
    for (std::uint64_t left = 1; left > 0;) {
      if (!db->Flush({}, families[name].get()).ok()) return false;
      std::uint64_t pending = 0, running = 0;
      (void)db->GetIntProperty(families[name].get(), "rocksdb.compaction-pending", &pending);
      (void)db->GetIntProperty("rocksdb.num-running-compactions", &running);
      left = pending + running;
    }
    return true;
  };
  ASSERT_TRUE(fill("named"));
  const auto named = service->statistics();
  EXPECT_GE(named.installed, 1U) << named.last_reason;
  EXPECT_EQ(named.kept + named.fell_back, 0U) << named.last_reason;
  ASSERT_TRUE(fill("other"));
  const auto both = service->statistics();
  EXPECT_EQ(both.installed, named.installed);
  EXPECT_GE(both.kept, 1U);
  EXPECT_EQ(both.last_reason, "column family other is not offloaded");
  for (const auto& [name, family] : families)
    for (int i = 0; i < 30000; i += 17) {
      std::string value;
      ASSERT_TRUE(db->Get({}, family.get(), key(i), &value).ok()) << name;
      EXPECT_TRUE(value.starts_with(name));
    }
  families.clear();
}

TEST(Offload, a_compaction_that_its_placer_keeps_is_reported_by_the_name_it_was_asked_by) {
  class Keeping final : public eco::Placer {
   public:
    [[nodiscard]] eco::proto::Placement place(const eco::proto::PlaceRequest& request) override {
      const std::lock_guard lock(mutex);
      asked.insert(request.job());
      EXPECT_EQ(request.level_zero().stall(), 20) << "RocksDB's default of the slowdown trigger, the paper's threshold";
      return {};
    }
    void report(const eco::proto::JobReport& report) override {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(report.outcome(), "local");
      EXPECT_TRUE(asked.contains(report.job())) << report.job();
      reported.insert(report.job());
    }
    std::mutex mutex;
    std::set<std::string> asked, reported;
  };
  TemporaryFolder folder;
  const auto placer = std::make_shared<Keeping>();
  rocksdb::Options options = small_tables();
  options.max_subcompactions = 4;
  options.max_bytes_for_level_base = 1 << 30;  // only level 0 is compacted
  const auto service = eco::attach(options, {.placer = placer});
  Bed bed(folder / "db", options);
  bed.write(60000, 19);
  bed.settle();
  const std::lock_guard lock(placer->mutex);
  EXPECT_GT(placer->asked.size(), 3U);
  EXPECT_EQ(placer->reported, placer->asked);
}

TEST(Offload, after_a_mistake_in_eco_every_job_is_compacted_here_and_no_key_is_lost) {
  class Mistaken final : public eco::Placer {
   public:
    [[nodiscard]] eco::proto::Placement place(const eco::proto::PlaceRequest&) override {
      const int answers = ++asked;
      ECO_CHECK(answers == 0, answers);
      return {};
    }
    void report(const eco::proto::JobReport& report) override {
      if (!report.kept().empty()) ++kept;
    }
    std::atomic<int> asked = 0, kept = 0;
  };
  TemporaryFolder folder;
  const auto placer = std::make_shared<Mistaken>();
  rocksdb::Options options = small_tables();
  const auto service = eco::attach(options, {.placer = placer});
  Bed bed(folder / "db", options);
  bed.write(60000, 24);
  bed.settle();
  EXPECT_EQ(bed.difference(), Difference{});
  EXPECT_EQ(bed.background_errors(), 0U);
  EXPECT_EQ(placer->asked, 1) << "the service is unusable from its first mistake on";
  expect_all_kept(service->statistics(), "internal error in eco: offload_test.cc:");
  EXPECT_GT(placer->kept, 2);
}

TEST(Offload, subcompactions_are_jobs_of_their_own) {
  rocksdb::Options options = small_tables();
  options.max_subcompactions = 4;
  Offloading offloading(options, {"--slots", "4"});
  offloading.bed->write(60000, 2);
  expect_all_installed(offloading.close());
  std::map<std::string, int> jobs;
  for (const auto& request : offloading.placer->requests()) {
    const std::string& job = request.job();
    ++jobs[job.substr(0, job.rfind('-'))];
    EXPECT_GT(request.features().input_bytes(), 0U);
  }
  EXPECT_LT(jobs.size(), offloading.placer->requests().size());
}

TEST(Offload, a_placer_hears_what_the_job_is_and_what_became_of_it) {
  Offloading offloading;
  offloading.bed->write(60000, 3);
  expect_all_installed(offloading.close());
  const auto requests = offloading.placer->requests();
  const auto reports = offloading.placer->reports();
  ASSERT_EQ(reports.size(), requests.size());
  const auto& last = requests.back();
  EXPECT_GT(last.features().input_bytes(), 500000U);
  EXPECT_GT(last.features().input_entries(), 3000U);
  EXPECT_EQ(last.features().codec(), "NoCompression");
  EXPECT_GE(last.level_zero().files(), 4);
  EXPECT_GT(last.level_zero().files_s(), 0);
  EXPECT_EQ(last.level_zero().stop(), 36);
  EXPECT_EQ(last.level_zero().trigger(), 4);
  for (const auto& report : reports) {
    EXPECT_EQ(report.outcome(), "installed");
    EXPECT_GT(report.cpu_s(), 0);
    EXPECT_GT(report.compute_s(), 0);
    EXPECT_GT(report.home_cpu_s(), 0);
    EXPECT_GT(report.bytes_moved(), report.features().input_bytes());
  }
}

TEST(Offload, a_snapshot_keeps_its_values) {
  Offloading offloading;
  auto& db = offloading.bed->db();
  ASSERT_TRUE(db.Put({}, "zz", "old").ok());
  const rocksdb::Snapshot* snapshot = db.GetSnapshot();
  ASSERT_TRUE(db.Put({}, "zz", "new").ok());
  offloading.bed->write(60000, 4);
  offloading.bed->settle();
  rocksdb::ReadOptions then;
  then.snapshot = snapshot;
  std::string value;
  ASSERT_TRUE(db.Get(then, "zz", &value).ok());
  EXPECT_EQ(value, "old");
  ASSERT_TRUE(db.Get({}, "zz", &value).ok());
  EXPECT_EQ(value, "new");
  db.ReleaseSnapshot(snapshot);
  expect_all_installed(offloading.close());
}

TEST(Offload, range_deletions_and_merges_keep_their_meaning) {
  rocksdb::Options options = small_tables();
  ASSERT_TRUE(rocksdb::MergeOperator::CreateFromString({}, "stringappend", &options.merge_operator).ok());
  Offloading offloading(options);
  auto& db = offloading.bed->db();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(db.Put({}, "range" + std::to_string(1000 + i), "x").ok());
  ASSERT_TRUE(db.DeleteRange({}, db.DefaultColumnFamily(), "range1100", "range1900").ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(db.Merge({}, "merged", std::to_string(i)).ok());
    offloading.bed->write(20000, static_cast<std::uint64_t>(5 + i));
  }
  offloading.bed->settle();
  std::string value;
  ASSERT_TRUE(db.Get({}, "merged", &value).ok());
  EXPECT_EQ(value, "0,1,2");
  EXPECT_TRUE(db.Get({}, "range1099", &value).ok());
  EXPECT_TRUE(db.Get({}, "range1100", &value).IsNotFound());
  EXPECT_TRUE(db.Get({}, "range1899", &value).IsNotFound());
  EXPECT_TRUE(db.Get({}, "range1900", &value).ok());
  expect_all_installed(offloading.close());
}

TEST(Offload, another_order_of_keys_is_kept) {
  rocksdb::Options options = small_tables();
  options.comparator = rocksdb::ReverseBytewiseComparator();
  Offloading offloading(options);
  offloading.bed->write(60000, 8);
  expect_all_installed(offloading.close());
}

TEST(Offload, filters_and_compression_are_those_of_the_database) {
  rocksdb::Options options = small_tables();
  options.compression = rocksdb::kSnappyCompression;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_size = 8192;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  Offloading offloading(options);
  offloading.bed->write(60000, 9);
  offloading.bed->settle();
  rocksdb::TablePropertiesCollection tables;
  ASSERT_TRUE(offloading.bed->db().GetPropertiesOfAllTables(&tables).ok());
  ASSERT_FALSE(tables.empty());
  for (const auto& [path, properties] : tables) {
    EXPECT_GT(properties->filter_size, 0U) << path;
    EXPECT_EQ(properties->compression_name, "Snappy") << path;
    EXPECT_LT(properties->num_data_blocks * 4096, properties->raw_key_size + properties->raw_value_size) << path;
  }
  expect_all_installed(offloading.close());
}

TEST(Offload, what_a_worker_cannot_do_stays_here) {
  class KeepAll final : public rocksdb::CompactionFilter {
    [[nodiscard]] const char* Name() const override { return "KeepAll"; }
  };
  const KeepAll filter;
  rocksdb::Options options = small_tables();
  options.compaction_filter = &filter;
  Offloading offloading(options);
  offloading.bed->write(60000, 10);
  expect_all_kept(offloading.close(), "compaction filter KeepAll is code of the application");
}

TEST(Offload, an_absent_worker_costs_nothing_but_time) {
  Offloading offloading;
  offloading.worker.kill();
  offloading.bed->write(60000, 11);
  const eco::Statistics statistics = offloading.close();
  EXPECT_GT(statistics.fell_back, 2U);
  EXPECT_EQ(statistics.installed, 0U);
}

TEST(Offload, is_switched_off_at_once) {
  Offloading offloading;
  offloading.service->offload(false);
  offloading.bed->write(60000, 12);
  expect_all_kept(offloading.close(), "switched off");
}

TEST(Offload, what_an_earlier_process_left_is_removed_before_the_first_job) {
  TemporaryFolder folder;
  const std::string left = folder / "db/eco-staging/dead-1-0";
  std::filesystem::create_directories(left);
  std::ofstream(left + "/000099.sst") << "half a table";
  WorkerProcess worker(folder / "scratch");
  rocksdb::Options options = small_tables();
  eco::Settings settings;
  settings.placer = std::make_shared<eco::FixedPlacer>(worker.address());
  const auto service = eco::attach(options, settings);
  Bed bed(folder / "db", options);
  bed.write(60000, 13);
  bed.settle();
  EXPECT_EQ(service->statistics().orphans_removed, 1U);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_EQ(bed.difference(), Difference{});
}

// RocksDB reports no end of a compaction that it drops because the database closes.
TEST(Offload, a_database_that_closes_under_a_job_leaves_nothing_behind) {
  std::weak_ptr<eco::CompactionService> service;
  {
    std::atomic<int> begun = 0;
    Offloading test(small_tables(), {}, {}, [&](int, eco::proto::FromWorker&) {
      ++begun;
      return Wire::Fate::hang;
    });
    test.placer->set_local_s(0.1);
    test.bed->write(8000, 61);
    while (begun == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    service = std::exchange(test.service, nullptr);
    test.bed.reset();
  }
  EXPECT_TRUE(service.expired());
}

TEST(Jail, a_worker_sees_no_log_and_gets_none) {
  std::mutex mutex;
  std::set<std::string> seen;
  bool asked = false;
  Offloading offloading(
      small_tables(), {}, {},
      [&](int, eco::proto::FromWorker& message) {
        const std::lock_guard lock(mutex);
        if (!message.has_read()) return Wire::Fate::pass;
        seen.insert(message.read().file());
        if (!asked && message.read().file().ends_with(".sst")) {
          asked = true;
          message.mutable_read()->set_file("000004.log");
        }
        return Wire::Fate::pass;
      },
      [&](int, eco::proto::FromPrimary& message) {
        const std::lock_guard lock(mutex);
        for (const auto& file : message.files().files()) seen.insert(file.name());
        return Wire::Fate::pass;
      });
  offloading.bed->write(60000, 14);
  const eco::Statistics statistics = offloading.close();
  EXPECT_GE(statistics.installed, 1U);
  EXPECT_EQ(statistics.fell_back, 1U);  // the job that requested the log
  const std::lock_guard lock(mutex);
  EXPECT_TRUE(asked);
  for (const auto& name : seen) EXPECT_FALSE(name.ends_with(".log")) << name;
}

TEST(Worker, limits_the_processes_of_its_jobs) {
  TemporaryFolder folder;
  // Stands for a cgroup's folder.
  const std::string group = folder / "group";
  std::filesystem::create_directories(group);
  std::mutex mutex;
  std::set<pid_t> jobs;
  bool nice = true, cpu = true;
  Offloading* bed = nullptr;
  const int mine = getpriority(PRIO_PROCESS, 0);
  Offloading offloading(small_tables(), {"--nice", "3", "--cgroup", group, "--job-cpu-s-max", "7"}, {},
                        [&](int, eco::proto::FromWorker& message) {
                          const std::lock_guard lock(mutex);
                          if (!message.has_read() || bed == nullptr) return Wire::Fate::pass;
                          for (const pid_t job : bed->worker.jobs()) {
                            rlimit limit{};
                            if (prlimit(job, RLIMIT_CPU, nullptr, &limit) != 0) continue;
                            jobs.insert(job);
                            cpu = cpu && limit.rlim_max == 7;
                            nice = nice && getpriority(PRIO_PROCESS, static_cast<id_t>(job)) == std::min(19, mine + 3);
                          }
                          return Wire::Fate::pass;
                        });
  {
    const std::lock_guard lock(mutex);
    bed = &offloading;
  }
  offloading.bed->write(60000, 20);
  expect_all_installed(offloading.close());
  const std::lock_guard lock(mutex);
  EXPECT_GT(jobs.size(), 2U);
  EXPECT_TRUE(nice);
  EXPECT_TRUE(cpu);
  pid_t last = 0;
  EXPECT_TRUE(std::ifstream(group + "/cgroup.procs") >> last);
  EXPECT_TRUE(jobs.contains(last)) << last;
}

// A database in a folder that its worker sees at another path.
struct SharedHome {
  TemporaryFolder folder;
  std::string home = folder / "home", mount = folder / "mount";
  std::unique_ptr<WorkerProcess> worker;
  std::shared_ptr<StubbornPlacer> placer;
  std::shared_ptr<eco::CompactionService> service;
  std::unique_ptr<Bed> bed;

  SharedHome() {
    std::filesystem::create_directories(home);
    home = std::filesystem::canonical(home).string();
  }
  // `mount` must be set up for the worker.
  eco::Statistics run(const std::string& shared_directory, std::uint64_t seed) {
    worker = std::make_unique<WorkerProcess>(folder / "scratch",
                                             std::vector<std::string>{"--shared-directory", home + "=" + mount});
    placer = std::make_shared<StubbornPlacer>(worker->address());
    rocksdb::Options options = small_tables();
    service = eco::attach(options, {.placer = placer, .shared_directory = shared_directory});
    bed = std::make_unique<Bed>(home + "/db", options);
    bed->write(60000, seed);
    bed->settle();
    EXPECT_EQ(bed->difference(), Difference{});
    bed->reopen(small_tables());
    EXPECT_EQ(bed->difference(), Difference{});
    EXPECT_TRUE(bed->db().VerifyChecksum().ok());
    EXPECT_EQ(bed->background_errors(), 0U);
    EXPECT_FALSE(std::filesystem::exists(home + "/db/eco-staging"));
    return service->statistics();
  }
};

TEST(SharedDirectory, carries_all_tables_and_the_streams_none) {
  SharedHome shared;
  std::filesystem::create_directory_symlink(shared.home, shared.mount);
  const eco::Statistics statistics = shared.run(shared.home, 24);
  expect_all_installed(statistics);
  EXPECT_GT(statistics.bytes_shared, 10U << 20);
  EXPECT_LT(statistics.bytes_moved, statistics.bytes_shared / 10) << "manifests and options alone";
  EXPECT_EQ(statistics.orphans_removed, 0U);
  std::uint64_t reported = 0;
  for (const auto& report : shared.placer->reports()) reported += report.bytes_shared();
  EXPECT_EQ(reported, statistics.bytes_shared);
  EXPECT_FALSE(shared.placer->requests().front().shared());
  EXPECT_TRUE(shared.placer->requests().back().shared()) << "the last jobs are reported";
}

TEST(SharedDirectory, that_is_another_folder_is_not_read) {
  SharedHome shared;
  {
    Bed other(shared.folder / "other", small_tables());
    other.write(20000, 25);
    other.settle();
  }
  std::filesystem::create_directories(shared.mount);
  std::filesystem::copy(shared.folder / "other", shared.mount + "/db", std::filesystem::copy_options::recursive);
  std::filesystem::create_directories(shared.mount + "/db/eco-staging");
  const eco::Statistics statistics = shared.run(shared.home, 26);
  expect_all_installed(statistics);
  EXPECT_EQ(statistics.bytes_shared, 0U);
}

TEST(SharedDirectory, that_the_worker_does_not_see_costs_no_job) {
  SharedHome shared;
  const eco::Statistics statistics = shared.run(shared.home, 27);
  expect_all_installed(statistics);
  EXPECT_EQ(statistics.bytes_shared, 0U);
}

TEST(SharedDirectory, is_offered_for_the_databases_below_it_alone) {
  SharedHome shared;
  std::filesystem::create_directory_symlink(shared.home, shared.mount);
  std::filesystem::create_directories(shared.home + "/d");  // no part of "db"
  const eco::Statistics statistics = shared.run(shared.home + "/d", 28);
  expect_all_installed(statistics);
  EXPECT_EQ(statistics.bytes_shared, 0U);
}

struct SeenFolder {
  TemporaryFolder folder;
  eco::proto::Shared shared;

  SeenFolder() {
    std::filesystem::create_directories(folder / "root/db/eco-staging/job");
    write("root/db/eco-staging/job/proof", "");
    write("root/db/000012.sst", "table");
    shared.set_root(folder / "root"), shared.set_folder("db");
    shared.set_staging("eco-staging/job"), shared.set_proof("proof");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder / name) << text; }
  [[nodiscard]] std::unique_ptr<eco::SharedFolder> open() const {
    std::string why;
    auto opened = eco::SharedFolder::open(shared, why);
    EXPECT_EQ(opened == nullptr, !why.empty());
    return opened;
  }
};

TEST(SharedFolder, serves_tables_of_the_size_that_the_primary_states_and_nothing_else) {
  const SeenFolder seen;
  seen.write("root/db/000013.log", "write-ahead");
  seen.write("secret", "table");
  std::filesystem::create_symlink(seen.folder / "secret", seen.folder / "root/db/000014.sst");
  ASSERT_EQ(mkfifo((seen.folder / "root/db/000015.sst").c_str(), 0600), 0);
  std::filesystem::create_directory(seen.folder / "root/db/000016.sst");
  const auto opened = seen.open();
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->table("000012.sst", 5));
  EXPECT_FALSE(opened->table("000012.sst", 6)) << "another size";
  EXPECT_FALSE(opened->table("000011.sst", 5)) << "it is not there";
  EXPECT_FALSE(opened->table("000013.log", 11));
  EXPECT_FALSE(opened->table("000014.sst", 5)) << "a link to elsewhere";
  EXPECT_FALSE(opened->table("000015.sst", 0)) << "a pipe";
  EXPECT_FALSE(opened->table("000016.sst", 4096)) << "a folder";
  EXPECT_FALSE(opened->table("../../secret", 5));
}

TEST(SharedFolder, makes_outputs_that_are_not_there_yet) {
  const SeenFolder seen;
  const auto opened = seen.open();
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->create("000020.sst"));
  EXPECT_TRUE(std::filesystem::exists(seen.folder / "root/db/eco-staging/job/000020.sst"));
  EXPECT_FALSE(opened->create("000020.sst"));
  EXPECT_FALSE(opened->create("../../000021.sst"));
  EXPECT_FALSE(opened->create("CURRENT"));
  std::filesystem::create_symlink(seen.folder / "made", seen.folder / "root/db/eco-staging/job/000022.sst");
  EXPECT_FALSE(opened->create("000022.sst")) << "a link to elsewhere";
  EXPECT_FALSE(std::filesystem::exists(seen.folder / "made"));
}

TEST(SharedFolder, is_the_primary_s_or_none) {
  SeenFolder seen;
  std::filesystem::remove(seen.folder / "root/db/eco-staging/job/proof");
  EXPECT_FALSE(seen.open()) << "without the proof";
  std::filesystem::create_symlink(seen.folder / "root/db/000012.sst", seen.folder / "root/db/eco-staging/job/proof");
  EXPECT_FALSE(seen.open()) << "a link is no proof";
  const SeenFolder linked;
  std::filesystem::rename(linked.folder / "root/db", linked.folder / "elsewhere");
  std::filesystem::create_directory_symlink(linked.folder / "elsewhere", linked.folder / "root/db");
  EXPECT_FALSE(linked.open()) << "a link to elsewhere";
}

TEST(SharedDirectories, are_found_by_the_longest_that_a_folder_lies_in) {
  const eco::SharedDirectories directories{{"/data", "/mnt/a"}, {"/data/fast", "/mnt/b"}};
  const auto here = [&](const std::string& folder, const std::string& staging = "eco-staging/job") {
    eco::proto::Shared shared;
    shared.set_folder(folder), shared.set_staging(staging), shared.set_proof("proof");
    return eco::locate(directories, shared) ? shared.root() + '|' + shared.folder() : "";
  };
  EXPECT_EQ(here("/data/db"), "/mnt/a|db");
  EXPECT_EQ(here("/data/fast/one/db"), "/mnt/b|one/db");
  EXPECT_EQ(here("/data/faster"), "/mnt/a|faster");
  EXPECT_EQ(here("/data"), "/mnt/a|");
  EXPECT_EQ(here("/database/db"), "");
  EXPECT_EQ(here("/data/../etc"), "");
  EXPECT_EQ(here("/data//db"), "");
  EXPECT_EQ(here("data/db"), "");
  EXPECT_EQ(here("/data/db", "../other"), "");
  EXPECT_EQ(here("/data/db", ""), "");
}

TEST(Worker, without_its_configured_cgroup_runs_no_job) {
  TemporaryFolder folder;
  Offloading offloading(small_tables(), {"--cgroup", folder / "nowhere"});
  offloading.bed->write(60000, 21);
  EXPECT_EQ(offloading.close().installed, 0U);
}

TEST(Worker, refuses_a_job_without_its_token) {
  Offloading offloading(small_tables(), {"--token", "secret"});
  offloading.bed->write(60000, 15);
  const eco::Statistics statistics = offloading.close();
  EXPECT_GT(statistics.fell_back, 2U);
  EXPECT_EQ(statistics.installed, 0U);
}

TEST(Worker, with_tls_serves_those_with_a_certificate_alone) {
  TemporaryFolder folder;
  const Certificates certificates(folder / "tls");
  eco::Settings settings;
  settings.tls = certificates.files();
  Offloading trusted(small_tables(), certificates.arguments(), settings);
  trusted.bed->write(60000, 16);
  expect_all_installed(trusted.close());
  Offloading stranger(small_tables(), certificates.arguments());
  stranger.bed->write(60000, 17);
  EXPECT_EQ(stranger.close().installed, 0U);
}

TEST(Worker, beyond_loopback_wants_tls) {
  TemporaryFolder folder;
  EXPECT_ANY_THROW(eco::Worker({.listen = "0.0.0.0:0", .scratch = folder / "scratch"}));
}

TEST(Worker, has_a_scratch_folder_of_its_own) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "scratch/job-7");
  const WorkerProcess first(folder / "scratch");
  EXPECT_FALSE(std::filesystem::exists(folder / "scratch/job-7"));
  EXPECT_ANY_THROW(WorkerProcess(folder / "scratch"));
}

TEST(FixedPlacer, leaves_a_worker_that_failed_alone_for_a_while) {
  eco::FixedPlacer placer("127.0.0.1:1");
  EXPECT_TRUE(placer.place({}).offload());
  eco::proto::JobReport report;
  report.set_outcome("fell back: it is gone");
  placer.report(report);
  EXPECT_FALSE(placer.place({}).offload());
}

TEST(NodePlacer, without_an_ecod_keeps_the_job_here) {
  eco::NodePlacer placer("unix:/nonexistent/node.sock");
  const auto placement = placer.place({});
  EXPECT_FALSE(placement.offload());
  EXPECT_NE(placement.reason(), "");
}

}  // namespace
