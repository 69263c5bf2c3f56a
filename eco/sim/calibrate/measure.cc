#include "measure.h"

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include "compat.h"
#include "eco.h"
#include "worker_process.h"

namespace eco::calibrate {
namespace {

constexpr std::size_t mib = 1 << 20, reads = 20'000, level0_files = 5;

void must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double process_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Case {
  std::size_t value_bytes = 0;
  std::string codec;
  std::size_t write_buffer_mb = 0;
  bool rewrites = false;  // writes each key about eight times

  [[nodiscard]] std::string name() const {
    return fmt::format("values of {} B, {}, {} MB memtables{}", value_bytes, codec, write_buffer_mb,
                       rewrites ? ", keys rewritten" : "");
  }
  [[nodiscard]] std::size_t entry_bytes() const { return value_bytes + key_bytes; }
};

struct Ended {
  double entries = 0, bytes_in = 0, bytes_out = 0, cpu_s = 0;
};

// A listener's two calls for one job come from the thread that runs it.
class Clock final : public rocksdb::EventListener {
 public:
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { begun_s = thread_cpu_s(); }
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override {
    const double cpu_s = thread_cpu_s() - begun_s;
    const std::lock_guard lock(mutex_);
    const rocksdb::TableProperties& table = info.table_properties;
    flushes_.push_back({.entries = static_cast<double>(table.num_entries),
                        .bytes_out = static_cast<double>(table.data_size + table.index_size + table.filter_size),
                        .cpu_s = cpu_s});
  }
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override { begun_s = thread_cpu_s(); }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) override {
    const double cpu_s = thread_cpu_s() - begun_s;
    if (info.stats.num_input_records == 0) return;  // a trivial move
    const std::lock_guard lock(mutex_);
    compactions_.push_back({.entries = static_cast<double>(info.stats.num_input_records),
                            .bytes_in = static_cast<double>(info.stats.total_input_bytes),
                            .bytes_out = static_cast<double>(info.stats.total_output_bytes),
                            .cpu_s = cpu_s});
  }
  [[nodiscard]] std::vector<Ended> flushes() const {
    const std::lock_guard lock(mutex_);
    return flushes_;
  }
  [[nodiscard]] std::vector<Ended> compactions() const {
    const std::lock_guard lock(mutex_);
    return compactions_;
  }

 private:
  static thread_local double begun_s;
  mutable std::mutex mutex_;
  std::vector<Ended> flushes_, compactions_;
};
thread_local double Clock::begun_s = 0;

constexpr std::pair<std::string_view, rocksdb::CompressionType> codecs[] = {{"NoCompression", rocksdb::kNoCompression},
                                                                            {"Snappy", rocksdb::kSnappyCompression},
                                                                            {"LZ4", rocksdb::kLZ4Compression},
                                                                            {"ZSTD", rocksdb::kZSTD}};

rocksdb::CompressionType codec_of(const std::string& name) {
  return std::ranges::find(codecs, name, &std::pair<std::string_view, rocksdb::CompressionType>::first)->second;
}

// A temporary database. Sizes have the proportions of RocksDB's defaults; writes are never delayed.
class Bed {
 public:
  Bed(const Plan& plan, const Case& a_case, bool compacts)
      : a_case_(a_case), path_((plan.directory / "db").string()), random_(plan.seed) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = a_case.write_buffer_mb * mib;
    options.max_bytes_for_level_base = 4 * options.write_buffer_size;
    options.target_file_size_base = options.write_buffer_size;
    options.compression = codec_of(a_case.codec);
    options.disable_auto_compactions = !compacts;
    options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 1000;
    options.listeners.push_back(clock_);
    options_ = options;
    must(rocksdb::DestroyDB(path_, {}));
    open(options);
    while (values_.size() < mib + a_case.value_bytes) {
      const std::string half = printable(50);
      values_ += half + half;  // one half repeats the other, as in db_bench
    }
  }
  ~Bed() {
    db_.reset();
    rocksdb::DestroyDB(path_, {});
  }
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  rocksdb::DB& db() { return *db_; }
  [[nodiscard]] const Clock& clock() const { return *clock_; }
  [[nodiscard]] std::uint64_t random_key() { return random_() % keys_; }

  // The writer's CPU time.
  double write(std::size_t bytes) {
    return write(bytes, a_case_.rewrites ? bytes / a_case_.entry_bytes() / 8 : 1'000'000'000);
  }
  double write(std::size_t bytes, std::uint64_t keys) {
    entries_ = bytes / a_case_.entry_bytes();
    keys_ = std::max<std::uint64_t>(1, keys);
    const double begin_s = thread_cpu_s();
    std::size_t at = 0;
    for (std::size_t i = 0; i < entries_; ++i, at = (at + a_case_.value_bytes) % mib) {
      rocksdb::WriteBatch batch;
      must(batch.Put(key_of(random_key()), rocksdb::Slice(values_.data() + at, a_case_.value_bytes)));
      must(db_->Write({}, &batch));
    }
    return thread_cpu_s() - begin_s;
  }
  [[nodiscard]] double entries() const { return static_cast<double>(entries_); }
  void flush() { must(db_->Flush({})); }
  void settle() {
    flush();
    for (const char* property : {"rocksdb.compaction-pending", "rocksdb.num-running-compactions"})
      for (std::uint64_t left = 1; db_->GetIntProperty(property, &left) && left > 0;)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void compact() {
    rocksdb::CompactRangeOptions range;
    range.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kSkip;
    must(db_->CompactRange(range, nullptr, nullptr));
  }
  std::shared_ptr<CompactionService> reopen_with(const Settings& settings) {
    db_.reset();
    rocksdb::Options options = options_;
    auto service = attach(options, settings);
    open(options);
    return service;
  }

  static std::string key_of(std::uint64_t number) { return fmt::format("{:016}", number); }

 private:
  void open(const rocksdb::Options& options) {
    Opened db{};
    must(rocksdb::DB::Open(options, path_, &db));
    db_ = std::unique_ptr<rocksdb::DB>(std::move(db));
  }
  std::string printable(std::size_t bytes) {
    std::string text(bytes, ' ');
    for (char& c : text) c = static_cast<char>(' ' + random_() % 95);
    return text;
  }

  Case a_case_;
  std::string path_;
  std::mt19937_64 random_;
  std::shared_ptr<Clock> clock_ = std::make_shared<Clock>();
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  std::string values_;
  std::size_t entries_ = 0;
  std::uint64_t keys_ = 1;
};

double sum_of_cpu(const std::vector<Ended>& all) {
  double sum = 0;
  for (const auto& each : all) sum += each.cpu_s;
  return sum;
}

void measure_writes(const Plan& plan, const Case& a_case, Measured& measured) {
  Bed bed(plan, a_case, true);
  const double put_s = bed.write(plan.memtables * a_case.write_buffer_mb * mib) / bed.entries();
  bed.settle();
  const auto entry = static_cast<double>(a_case.entry_bytes());
  measured.puts.push_back({{1, entry}, put_s});
  CodecCosts& costs = measured.codecs[a_case.codec];
  const auto flushes = bed.clock().flushes(), compactions = bed.clock().compactions();
  double stored = 0, bytes_in = 0, fullest = 0;
  for (const auto& flush : flushes) {
    costs.flushes.push_back({{flush.entries, flush.entries * entry}, flush.cpu_s});
    stored += flush.bytes_out, fullest = std::max(fullest, flush.entries);
  }
  measured.stored[fmt::format("{} of {} B", a_case.codec, a_case.value_bytes)].push_back(stored /
                                                                                         (bed.entries() * entry));
  const auto buffer = static_cast<double>(a_case.write_buffer_mb * mib);
  measured.memtables.push_back({{fullest, buffer}, buffer - fullest * entry});
  for (const auto& each : compactions) {
    costs.compactions.push_back({{1, each.entries, each.bytes_in, each.bytes_out}, each.cpu_s});
    bytes_in += each.bytes_in;
  }
  measured.rounds["put"][a_case.name()].push_back(put_s);
  measured.rounds["flush"][a_case.name()].push_back(sum_of_cpu(flushes) / bed.entries());
  if (bytes_in > 0) measured.rounds["compaction"][a_case.name()].push_back(sum_of_cpu(compactions) / bytes_in);
}

// CPU time of a get and of a seek.
std::pair<double, double> read(Bed& bed) {
  std::string value;
  const double begin_s = thread_cpu_s();
  for (std::size_t i = 0; i < reads; ++i)
    if (const auto status = bed.db().Get({}, Bed::key_of(bed.random_key()), &value); !status.IsNotFound()) must(status);
  const double got_s = thread_cpu_s();
  const std::unique_ptr<rocksdb::Iterator> iterator(bed.db().NewIterator({}));
  for (std::size_t i = 0; i < reads; ++i) iterator->Seek(Bed::key_of(bed.random_key()));
  must(iterator->status());
  const double sought_s = thread_cpu_s();
  return {(got_s - begin_s) / reads, (sought_s - got_s) / reads};
}

void measure_reads(const Plan& plan, const Case& a_case, Measured& measured) {
  Bed bed(plan, a_case, false);
  const std::size_t file = a_case.write_buffer_mb * mib * 4 / 5;
  for (std::size_t i = 0; i < level0_files; ++i) {
    (void)bed.write(file, level0_files * file / a_case.entry_bytes());
    bed.flush();
  }
  (void)read(bed);  // opens the files
  const auto full = read(bed);
  bed.compact();
  (void)read(bed);
  const auto empty = read(bed);
  const auto of_a_file = [](double with, double without) { return std::max(0.0, with - without) / level0_files; };
  measured.get_s.push_back(empty.first), measured.seek_s.push_back(empty.second);
  measured.get_s_per_file.push_back(of_a_file(full.first, empty.first));
  measured.seek_s_per_file.push_back(of_a_file(full.second, empty.second));
  measured.rounds["get"][a_case.name()].push_back(empty.first);
}

// Compactions of level 0, local and at a worker on loopback.
void measure_offloaded(const Plan& plan, const Case& a_case, Measured& measured) {
  const WorkerProcess worker(plan.ecod, (plan.directory / "scratch").string());
  std::optional<Ended> here;
  for (const bool away : {false, true}) {
    Bed bed(plan, a_case, false);
    (void)bed.write(4 * a_case.write_buffer_mb * mib);
    bed.flush();
    if (!away) {
      bed.compact();
      if (bed.clock().compactions().size() != 1) throw std::runtime_error("level 0 was not compacted once");
      here = bed.clock().compactions().front();
      continue;
    }
    const auto service = bed.reopen_with({.placer = std::make_shared<FixedPlacer>(worker.address())});
    const double worker_begin_s = worker.cpu_s(), home_begin_s = process_cpu_s();
    bed.compact();
    const double home_s = process_cpu_s() - home_begin_s, worker_s = worker.cpu_s() - worker_begin_s;
    if (service->statistics().installed != 1)
      throw std::runtime_error("the worker did not compact: " + service->statistics().last_reason);
    CodecCosts& costs = measured.codecs[a_case.codec];
    costs.home.push_back({{here->bytes_in, here->bytes_out}, home_s});
    costs.worker.push_back({{1, here->bytes_in + here->bytes_out}, worker_s - here->cpu_s});
    measured.rounds["offloaded, at home"][a_case.name()].push_back(home_s / (here->bytes_in + here->bytes_out));
    measured.rounds["offloaded, worker"][a_case.name()].push_back(worker_s / here->bytes_in);
  }
}

}  // namespace

std::vector<std::string> known_codecs() {
  std::vector<std::string> names;
  for (const auto& [name, type] : codecs) names.emplace_back(name);
  return names;
}

Measured measure(const Plan& plan, const std::function<void(const std::string&, double)>& tell) {
  Measured measured;
  std::vector<Case> cases;
  for (const auto value_bytes : plan.value_bytes)
    for (const auto& codec : plan.codecs)
      for (const auto write_buffer_mb : plan.write_buffer_mb)
        for (const bool rewrites : {false, true}) cases.push_back({value_bytes, codec, write_buffer_mb, rewrites});
  const std::size_t steps = plan.rounds * cases.size();
  for (std::size_t step = 0; step < steps; ++step) {
    const Case& a_case = cases[step % cases.size()];
    tell(fmt::format("round {} of {}: {}", step / cases.size() + 1, plan.rounds, a_case.name()),
         static_cast<double>(step) / static_cast<double>(steps));
    measure_writes(plan, a_case, measured);
    // Uses the largest database: reads from the block cache would not be representative.
    const bool largest = a_case.write_buffer_mb == std::ranges::max(plan.write_buffer_mb);
    if (largest && !a_case.rewrites && a_case.codec == plan.codecs.front()) measure_reads(plan, a_case, measured);
    if (!plan.ecod.empty()) measure_offloaded(plan, a_case, measured);
  }
  return measured;
}

}  // namespace eco::calibrate
