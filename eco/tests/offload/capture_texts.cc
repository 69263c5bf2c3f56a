// eco-capture-texts DATABASE FOLDER: captures the texts between RocksDB and a compaction service, for the parser's
// tests of a further release. Creates a database, compacts its level 0 by OpenAndCompact, and writes FOLDER/input,
// FOLDER/result and FOLDER/OPTIONS of the first job.
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/table.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>

#include "bench_bed.h"
#include "compat.h"

namespace {

namespace fs = std::filesystem;

class Capture final : public eco::PortableCompactionService {
 public:
  Capture(const rocksdb::Options& options, std::string database, std::string folder)
      : options_(options), database_(std::move(database)), folder_(std::move(folder)) {}
  [[nodiscard]] const char* Name() const override { return "capture"; }
  [[nodiscard]] bool done() const { return done_; }

 protected:
  bool start(const Info&, const std::string& input) noexcept override {
    const std::lock_guard lock(mutex_);
    if (done_) return false;
    rocksdb::CompactionServiceOptionsOverride options;
    options.comparator = options_.comparator, options.merge_operator = options_.merge_operator;
    options.table_factory = options_.table_factory;
    const auto status = rocksdb::DB::OpenAndCompact(database_, database_ + "/output", input, &result_, options);
    if (!status.ok()) std::cerr << status.ToString() << '\n';
    if (!status.ok()) return false;
    fs::path newest;
    for (const auto& entry : fs::directory_iterator(database_))
      if (entry.path().filename().string().starts_with("OPTIONS-")) newest = std::max(newest, entry.path());
    std::ifstream from(newest);
    std::ofstream to(folder_ + "/OPTIONS");
    for (std::string line; std::getline(from, line);)
      if (!line.starts_with('#')) to << line << '\n';
    std::ofstream(folder_ + "/input", std::ios::binary) << input;
    std::ofstream(folder_ + "/result", std::ios::binary) << result_;
    done_ = true;
    return true;
  }
  bool wait(const std::string&, std::string* result) noexcept override {
    *result = result_;
    return true;
  }
  void cancel() noexcept override {}

 private:
  rocksdb::Options options_;
  std::string database_, folder_;
  std::mutex mutex_;
  std::string result_;
  bool done_ = false;
};

void must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

void run(const std::string& database, const std::string& folder) {
  fs::create_directories(folder);
  rocksdb::Options options;
  options.create_if_missing = true, options.error_if_exists = true;
  options.db_host_id = "host";
  options.level0_file_num_compaction_trigger = 4;
  options.target_file_size_base = 64 << 10;
  options.compression = rocksdb::kSnappyCompression;
  must(rocksdb::MergeOperator::CreateFromString({}, "stringappend", &options.merge_operator));
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const auto capture = std::make_shared<Capture>(options, database, folder);
  options.compaction_service = capture;
  eco::test::Bed bed(database, options);
  auto& db = bed.db();
  const rocksdb::Snapshot* snapshot = nullptr;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 2000; ++i) {
      const std::string key = "key" + std::to_string(100000 + i);
      if (i % 10 == round) {
        must(db.Delete({}, key));
      } else if (i % 50 == 7) {
        must(db.Merge({}, key, "more"));
      } else {
        must(db.Put({}, key, std::to_string(i * 7919 + round) + std::string(100, static_cast<char>('a' + i % 23))));
      }
    }
    if (round == 2) must(db.DeleteRange({}, db.DefaultColumnFamily(), "key101990", "key101995"));
    if (round == 0) snapshot = db.GetSnapshot();
    must(db.Flush({}));
  }
  bed.settle();
  db.ReleaseSnapshot(snapshot);
  if (!capture->done()) throw std::runtime_error("no job was captured");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: eco-capture-texts DATABASE FOLDER\n";
    return 2;
  }
  run(argv[1], argv[2]);
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
