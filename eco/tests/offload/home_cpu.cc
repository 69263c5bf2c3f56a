// eco-home-cpu: measures the share of a compaction's CPU time that stays at the primary if a worker runs it. It
// includes the whole process: serving inputs, receiving and verifying outputs, gRPC and TLS, installing. The bar is 30
// %.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <random>

#include "bench_bed.h"
#include "certificates.h"
#include "compat.h"

namespace {

using namespace eco::test;

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

rocksdb::Options options_of(rocksdb::CompressionType compression) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 16 << 20;
  options.target_file_size_base = 16 << 20;
  options.disable_auto_compactions = true;
  options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 1000;
  options.compression = compression;
  return options;
}

struct Case {
  std::size_t value_bytes = 0;
  rocksdb::CompressionType compression = rocksdb::kNoCompression;
  std::uint64_t bytes = 0;
};

void must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::unique_ptr<rocksdb::DB> open(const rocksdb::Options& options, const std::string& path) {
  eco::Opened db{};
  must(rocksdb::DB::Open(options, path, &db));
  return std::unique_ptr<rocksdb::DB>(std::move(db));
}

// Fills level 0 with random keys; half of each value is random, as in db_bench.
void fill(const Case& a_case, const std::string& path, std::uint64_t seed) {
  const auto db = open(options_of(a_case.compression), path);
  std::mt19937_64 random(seed);
  std::string value(a_case.value_bytes, 'v');
  const std::uint64_t entries = a_case.bytes / (a_case.value_bytes + 16);
  for (std::uint64_t i = 0; i < entries; ++i) {
    for (std::size_t at = 0; at + 8 <= value.size() / 2; at += 8) {
      const std::uint64_t word = random();
      std::memcpy(&value[at], &word, 8);
    }
    must(db->Put({}, fmt::format("{:016}", random() % entries), value));
  }
  must(db->Flush({}));
}

struct Measured {
  double cpu_s = 0;
  eco::Statistics statistics;
};

// Compacts level 0 once and returns the process's CPU time.
Measured compact(const Case& a_case, const std::string& path, const eco::Settings* settings) {
  rocksdb::Options options = options_of(a_case.compression);
  std::shared_ptr<eco::CompactionService> service;
  if (settings != nullptr) service = eco::attach(options, *settings);
  const auto db = open(options, path);
  const double begin_s = cpu_s();
  rocksdb::CompactRangeOptions range;
  range.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kSkip;
  must(db->CompactRange(range, nullptr, nullptr));
  Measured measured{.cpu_s = cpu_s() - begin_s, .statistics = {}};
  if (service) measured.statistics = service->statistics();
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"eco-home-cpu: the CPU that stays at the primary when a worker compacts, against a local compaction"};
  std::uint64_t megabytes = 128, seed = 1;
  int rounds = 3;
  app.add_option("--mb", megabytes, "of each level 0")->capture_default_str();
  app.add_option("--rounds", rounds, "the middle one counts")->capture_default_str();
  app.add_option("--seed", seed)->capture_default_str();
  std::vector<std::size_t> values{100, 1000};
  std::vector<std::string> codecs{"none", "Snappy"}, ways{"plain", "tls"};
  bool shared = false;
  app.add_option("--value-bytes", values, "which cases")->capture_default_str();
  app.add_option("--codec", codecs)->check(CLI::IsMember({"none", "Snappy"}))->capture_default_str();
  app.add_option("--way", ways)->check(CLI::IsMember({"plain", "tls"}))->capture_default_str();
  app.add_flag("--shared", shared, "and by a shared folder, in which the worker reads and writes the tables itself");
  CLI11_PARSE(app, argc, argv);
  if (shared) ways.emplace_back("shared");
  TemporaryFolder folder;
  const Certificates certificates(folder / "tls");
  const std::string home = std::filesystem::canonical(folder / "").string();
  const WorkerProcess plain(folder / "plain", {"--shared-directory", home + "=" + home});
  const WorkerProcess secured(folder / "secured", certificates.arguments());
  fmt::print("seed {}, {} MB, the middle of {} rounds\n{:>7} {:>9} {:>6} {:>10} {:>10} {:>7} {:>9} {:>9} {:>9}\n", seed,
             megabytes, rounds, "value B", "codec", "way", "local s", "stays s", "share", "moved MB", "shared MB",
             "threads s");
  bool over = false;
  for (const auto& codec : codecs)
    for (const std::size_t value_bytes : values)
      for (const auto& way : ways) {
        const bool tls = way == "tls";
        const auto compression = codec == "none" ? rocksdb::kNoCompression : rocksdb::kSnappyCompression;
        const Case a_case{.value_bytes = value_bytes, .compression = compression, .bytes = megabytes << 20};
        eco::Settings settings;
        settings.placer = std::make_shared<StubbornPlacer>(tls ? secured.address() : plain.address());
        if (tls) settings.tls = certificates.files();
        if (way == "shared") settings.shared_directory = home;
        std::vector<std::pair<double, std::pair<double, double>>> shares;
        double moved_mb = 0, shared_mb = 0, threads_s = 0;
        for (int round = 0; round < rounds; ++round) {
          double cpu[2];
          for (const bool offloaded : {false, true}) {
            const std::string path = folder / "db";
            fill(a_case, path, seed);
            const Measured measured = compact(a_case, path, offloaded ? &settings : nullptr);
            cpu[offloaded] = measured.cpu_s;
            if (offloaded && measured.statistics.installed != 1) {
              fmt::print("not offloaded: {}\n", measured.statistics.last_reason);
              return 1;
            }
            moved_mb = static_cast<double>(measured.statistics.bytes_moved) / 1e6;
            shared_mb = static_cast<double>(measured.statistics.bytes_shared) / 1e6;
            threads_s = measured.statistics.home_cpu_s;
            must(rocksdb::DestroyDB(path, {}));
          }
          shares.push_back({cpu[1] / cpu[0], {cpu[0], cpu[1]}});
        }
        std::ranges::sort(shares);
        const auto& [share, seconds] = shares[shares.size() / 2];
        fmt::print("{:>7} {:>9} {:>6} {:>10.3f} {:>10.3f} {:>6.1f}% {:>9.1f} {:>9.1f} {:>9.3f}\n", value_bytes, codec,
                   way, seconds.first, seconds.second, 100 * share, moved_mb, shared_mb, threads_s);
        std::cout.flush();
        over = over || share >= 0.3;
      }
  return over ? 2 : 0;
}
