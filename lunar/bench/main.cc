// lunar-bench: one measurement, as JSON on standard output. bench.py makes the devices, calls it in rounds and prints
// the table.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <map>

#include "calls.h"
#include "card_replay.h"
#include "fragmentation.h"
#include "measure.h"
#include "wear.h"

namespace lunar_bench {
namespace {

struct Options {
  EngineOptions engine;
  Work work;
  Aging aging;
  Logging logging;
  Calling calling;
  std::string trace;
};

void add_run(CLI::App& app, Options& options) {
  auto* run = app.add_subcommand("run", "a workload on an engine");
  auto& e = options.engine;
  auto& w = options.work;
  run->add_option("--engine", e.engine)->required()->check(CLI::IsMember({"lunar", "sqlite", "lmdb", "raw"}));
  run->add_option("--path", e.path, "device (lunar, raw; without it lunar runs on the simulated card) or folder");
  run->add_option("--mode", e.mode, "lunar: none, disorder, metadata, data, full");
  run->add_option("--load-mode", e.load_mode, "lunar: mode in which rows are loaded");
  run->add_option("--buffer-bytes", e.buffer_bytes, "lunar: RAM; sqlite: cache");
  run->add_option("--query-cache-bytes", e.query_cache_bytes, "lunar: RAM for rows read by their keys");
  run->add_option("--card-bytes", e.card_bytes);
  run->add_option("--atomic-write-bytes", e.atomic_write_bytes);
  run->add_flag("--page-cache", e.page_cache, "lunar: through the kernel's page cache, not past it");
  run->add_flag("--direct", e.direct, "sqlite: past the kernel's page cache, not through it");
  run->add_option("--journal", e.journal, "sqlite");
  run->add_option("--synchronous", e.synchronous, "sqlite");
  run->add_option("--raw-writes", e.raw_writes)->check(CLI::Range(1, 2));
  run->add_option("--work", w.kind)->check(CLI::IsMember({"insert", "update"}));
  run->add_option("--columns", w.shape.columns)->check(CLI::Range(1, 15));
  run->add_option("--column-bytes", w.shape.column_bytes)->check(CLI::Range(1, 60000));
  run->add_option("--load", w.loads, "rows there before; several: a measurement at each size")->delimiter(',');
  run->add_flag("--loaded", w.loaded, "lunar, sqlite: the first number of them are there from an earlier run");
  run->add_option("--warm-up", w.warm_up, "update: operations before each measurement")->check(CLI::NonNegativeNumber);
  run->add_option("--operations", w.operations)->check(CLI::PositiveNumber);
  run->add_option("--reads", w.reads)->check(CLI::Range(0.0, 1.0));
  run->add_option("--skew", w.skews, "several: a measurement of each")->delimiter(',')->check(CLI::Range(0.0, 0.999));
  run->add_flag("--sync-each", w.sync_each, "lunar: lunar_sync after every write");
  run->add_option("--seed", w.seed);
  run->add_option("--device", w.device, "name in /sys/block");
  run->add_option("--file-system", w.file_system);
  run->add_option("--marker", w.marker, "a trace_marker of Linux's tracing");
}

nlohmann::json result(const CLI::App& app, const Options& options) {
  if (app.got_subcommand("replay")) return replay(options.trace);
  if (app.got_subcommand("age")) return age(options.aging);
  if (app.got_subcommand("calls")) return calls(options.calling);
  if (app.got_subcommand("wear")) return wear(options.logging);
  using Open = std::unique_ptr<Engine> (*)(const EngineOptions&);
  static const std::map<std::string, Open> engines{
      {"lunar", open_lunar}, {"sqlite", open_sqlite}, {"lmdb", open_lmdb}, {"raw", open_raw}};
  const auto engine = engines.at(options.engine.engine)(options.engine);
  return measure(*engine, options.work);
}

}  // namespace
}  // namespace lunar_bench

int main(int argc, char** argv) {
  lunar_bench::Options options;
  CLI::App app("One measurement of lunar or a peer, as JSON");
  app.require_subcommand(1);
  lunar_bench::add_run(app, options);
  auto* age = app.add_subcommand("age", "fragmentation after tables came and went");
  age->add_option("--volume-bytes", options.aging.volume_bytes);
  age->add_option("--written-bytes", options.aging.written_bytes);
  age->add_option("--full", options.aging.full)->check(CLI::Range(0.1, 0.95));
  age->add_flag("--fixed", options.aging.fixed);
  age->add_option("--seed", options.aging.seed);
  auto* wear = app.add_subcommand("wear", "how a logger's writes spread over its sectors");
  wear->add_option("--ring-rows", options.logging.ring_rows);
  wear->add_option("--counters", options.logging.counters);
  wear->add_option("--buffer-bytes", options.logging.buffer_bytes)
      ->check(CLI::Range(std::size_t{LUNAR_BUFFER_BYTES_MIN(512)}, std::size_t{1} << 30));
  wear->add_flag_callback("--tree", [&options] { options.logging.index = LUNAR_INDEX_TREE; });
  wear->add_option("--rows", options.logging.rows)->check(CLI::Range(1, 1'000'000'000));
  auto* calls = app.add_subcommand("calls", "what single calls ask of the device");
  calls->add_option("--buffer-bytes", options.calling.buffer_bytes)
      ->check(CLI::Range(std::size_t{LUNAR_BUFFER_BYTES_MIN(512)}, std::size_t{1} << 30));
  calls->add_flag_callback("--hash", [&options] { options.calling.index = LUNAR_INDEX_HASH; });
  calls->add_flag("--ring", options.calling.ring);
  calls->add_option("--rows", options.calling.rows)->check(CLI::Range(100, 10'000'000));
  calls->add_option("--calls", options.calling.calls)->check(CLI::Range(10, 10'000'000));
  app.add_subcommand("replay", "a block trace on the card model")->add_option("trace", options.trace)->required();
  CLI11_PARSE(app, argc, argv);
  try {
    std::printf("%s\n", lunar_bench::result(app, options).dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lunar-bench: %s\n", error.what());
    return 1;
  }
}
