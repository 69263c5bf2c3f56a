// eco-hedging: what a second attempt at a late job is worth: the time until a compaction is installed, and the CPU that
// it wastes, where a worker is slow now and then. Rounds without and with hedging take turns.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iostream>
#include <random>
#include <thread>

#include "bench_bed.h"
#include "compaction_model.h"
#include "compat.h"
#include "policy.h"

namespace {

using namespace eco::test;
using Clock = std::chrono::steady_clock;

void must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

rocksdb::Options options_of() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = options.target_file_size_base = 4 << 20;
  options.disable_auto_compactions = true;
  options.level0_slowdown_writes_trigger = options.level0_stop_writes_trigger = 1000;
  options.compression = rocksdb::kNoCompression;
  return options;
}

std::unique_ptr<rocksdb::DB> open(const rocksdb::Options& options, const std::string& path) {
  eco::Opened opened{};
  must(rocksdb::DB::Open(options, path, &opened));
  return std::unique_ptr<rocksdb::DB>(std::move(opened));
}

// Seconds until level 0 is compacted.
double compact(std::uint64_t megabytes, const std::string& path, std::uint64_t seed,
               const std::function<void(rocksdb::Options&)>& attach) {
  {
    const auto db = open(options_of(), path);
    std::mt19937_64 random(seed);
    std::string value(100, 'v');
    const std::uint64_t entries = (megabytes << 20) / 116;
    for (std::uint64_t i = 0; i < entries; ++i) {
      const std::uint64_t word = random();
      std::memcpy(value.data(), &word, 8);
      must(db->Put({}, fmt::format("{:016}", random() % entries), value));
    }
    must(db->Flush({}));
  }
  rocksdb::Options options = options_of();
  attach(options);
  double took_s = 0;
  {
    const auto db = open(options, path);
    const auto begin = Clock::now();
    rocksdb::CompactRangeOptions range;
    range.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kSkip;
    must(db->CompactRange(range, nullptr, nullptr));
    took_s = std::chrono::duration<double>(Clock::now() - begin).count();
    must(db->VerifyChecksum());
  }
  must(rocksdb::DestroyDB(path, {}));
  return took_s;
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"eco-hedging: what a second attempt at a late job is worth"};
  std::uint64_t megabytes = 24, seed = 1;
  int rounds = 30, slow_each = 5, slow_ms = 150;
  double hedge = eco::Policy{}.hedge;
  app.add_option("--mb", megabytes, "of each level 0")->capture_default_str();
  app.add_option("--rounds", rounds, "of either kind")->capture_default_str();
  app.add_option("--slow-each", slow_each, "of so many rounds one meets a slow worker")->capture_default_str();
  app.add_option("--slow-ms", slow_ms, "added to each of its reads")->capture_default_str();
  app.add_option("--hedge", hedge, "times what is rarely exceeded: from then on a job is late")->capture_default_str();
  app.add_option("--seed", seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  TemporaryFolder folder;
  const WorkerProcess first(folder / "first"), second(folder / "second");
  std::atomic<bool> slow{false};
  Wire wire(first.address(), {}, [&](int, eco::proto::FromPrimary& message) {
    if (slow && message.has_bytes()) std::this_thread::sleep_for(std::chrono::milliseconds(slow_ms));
    return Wire::Fate::pass;
  });
  // By what a server's predictor knows after some jobs.
  const std::string path = folder / "db";
  eco::CompactionModel local, remote;
  const eco::Job job{
      .input_bytes = megabytes << 20, .input_entries = (megabytes << 20) / 116, .codec = "NoCompression"};
  const auto plain = std::make_shared<StubbornPlacer>(wire.address());
  for (int i = 0; i < 5; ++i) {
    local.learn(job, {.compute_s = compact(megabytes, path, seed, [](rocksdb::Options&) {})});
    remote.learn(job, {.compute_s = compact(megabytes, path, seed, [&](rocksdb::Options& options) {
                         (void)eco::attach(options, {.placer = plain});
                       })});
  }
  const double local_s = local.predict(job).compute_s.upper(), expected_s = remote.predict(job).compute_s.upper();
  const auto placer = std::make_shared<StubbornPlacer>(wire.address(), local_s);
  placer->set_again(second.address(), hedge * expected_s);
  fmt::print("seed {}, {} MB; rarely exceeded: {:.2f} s here, {:.2f} s there; late after {:.2f} s\n", seed, megabytes,
             local_s, expected_s, hedge * expected_s);

  struct Kind {
    std::vector<double> all_s, slow_s;
    std::uint64_t hedges = 0, won = 0, fell_back = 0, moved = 0, wasted = 0;
    double wasted_cpu_s = 0, workers_cpu_s = 0;
  } kinds[2];
  for (int round = 0; round < rounds; ++round)
    for (const bool hedged : {false, true}) {
      Kind& kind = kinds[hedged];
      slow = round % slow_each == slow_each - 1;
      std::shared_ptr<eco::CompactionService> service;
      const double before_s = first.cpu_s() + second.cpu_s();
      const double took_s =
          compact(megabytes, path, seed + static_cast<std::uint64_t>(round), [&](rocksdb::Options& options) {
            service = eco::attach(options, {.placer = placer, .hedge_share = hedged ? 1.0 : 0.0});
          });
      kind.workers_cpu_s += first.cpu_s() + second.cpu_s() - before_s;
      const auto statistics = service->statistics();
      kind.all_s.push_back(took_s);
      if (slow) kind.slow_s.push_back(took_s);
      kind.hedges += statistics.hedges, kind.won += statistics.hedges_won, kind.fell_back += statistics.fell_back;
      kind.moved += statistics.bytes_moved, kind.wasted += statistics.wasted_bytes;
      kind.wasted_cpu_s += statistics.wasted_cpu_s;
    }
  fmt::print("{:<8} {:>8} {:>8} {:>8} {:>12} {:>7} {:>5} {:>10} {:>9} {:>10} {:>14} {:>12}\n", "hedging", "median s",
             "p95 s", "max s", "slow: median", "second", "won", "fell back", "moved MB", "wasted MB", "workers' CPU s",
             "wasted CPU s");
  for (const bool hedged : {false, true}) {
    const Kind& kind = kinds[hedged];
    fmt::print("{:<8} {:>8.2f} {:>8.2f} {:>8.2f} {:>12.2f} {:>7} {:>5} {:>10} {:>9.0f} {:>10.0f} {:>14.2f} {:>12.2f}\n",
               hedged ? "yes" : "no", quantile(kind.all_s, 0.5), quantile(kind.all_s, 0.95), quantile(kind.all_s, 1),
               kind.slow_s.empty() ? 0 : quantile(kind.slow_s, 0.5), kind.hedges, kind.won, kind.fell_back,
               static_cast<double>(kind.moved) / 1e6, static_cast<double>(kind.wasted) / 1e6, kind.workers_cpu_s,
               kind.wasted_cpu_s);
  }
  return 0;
}
