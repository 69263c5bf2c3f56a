// lunar-bench: one measurement, as JSON on standard output. bench.py makes the devices, calls it in rounds and prints
// the table.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <map>

#include "calls.h"
#include "card_replay.h"
#include "fragmentation.h"
#include "growth.h"
#include "limits.h"
#include "measure.h"
#include "space.h"
#include "wear.h"

namespace lunar_bench {
namespace {

struct Options {
  EngineOptions engine;
  Work work;
  Aging aging;
  Logging logging;
  Calling calling;
  Growing growing;
  Changing changing;
  std::uint32_t megabytes = 64;    // refused
  std::size_t idle_buffer = 4096;  // idle
  std::string trace;
};

void add_engine(CLI::App* run, EngineOptions& e) {
  run->add_option("--engine", e.engine)->required()->check(CLI::IsMember({"lunar", "sqlite", "lmdb", "raw"}));
  run->add_option("--path", e.path, "device (lunar, raw; without it lunar runs on the simulated card) or folder");
  run->add_option("--mode", e.mode, "lunar: none, disorder, metadata, data, full");
  run->add_option("--index", e.index, "lunar: hash, tree")->check(CLI::IsMember({"hash", "tree"}));
  run->add_option("--load-mode", e.load_mode, "lunar: mode in which rows are loaded");
  run->add_option("--buffer-bytes", e.buffer_bytes, "lunar: RAM; sqlite: cache");
  run->add_option("--query-cache-bytes", e.query_cache_bytes, "lunar: RAM for rows read by their keys");
  run->add_option("--card-bytes", e.card_bytes);
  run->add_option("--atomic-write-bytes", e.atomic_write_bytes);
  run->add_flag("--page-cache", e.page_cache, "lunar: through the kernel's page cache, not past it");
  run->add_flag("--direct", e.direct, "sqlite: past the kernel's page cache, not through it");
  run->add_option("--journal", e.journal, "sqlite");
  run->add_option("--synchronous", e.synchronous, "sqlite");
  run->add_option("--auto-vacuum", e.auto_vacuum, "sqlite")->check(CLI::IsMember({"none", "full", "incremental"}));
  run->add_option("--raw-writes", e.raw_writes)->check(CLI::Range(1, 2));
}

void add_run(CLI::App& app, Options& options) {
  auto* run = app.add_subcommand("run", "a workload on an engine");
  add_engine(run, options.engine);
  auto& w = options.work;
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

void add_growth(CLI::App& app, Options& options) {
  auto* grow = app.add_subcommand("grow", "operations on a table of a given size");
  add_engine(grow, options.engine);
  grow->add_option("--rows", options.growing.rows)->check(CLI::Range(100, 1'000'000'000));
  grow->add_option("--calls", options.growing.calls)->check(CLI::PositiveNumber);
  auto* refused = app.add_subcommand("refused", "insertions that a full volume refuses");
  refused->add_option("--megabytes", options.megabytes)->check(CLI::Range(1, 4096));
  auto* idle = app.add_subcommand("idle", "lunar_sync when nothing has changed");
  idle->add_option("--buffer-bytes", options.idle_buffer)->check(CLI::Range(4096, 1 << 26));
  auto* change = app.add_subcommand("change", "the room of a table while its rows change their sizes");
  add_engine(change, options.engine);
  change->add_option("--rows", options.changing.rows)->check(CLI::PositiveNumber);
  change->add_option("--operations", options.changing.operations)->check(CLI::PositiveNumber);
  change->add_option("--live", options.changing.live, "lunar")->check(CLI::Range(0.1, 0.9));
}

std::unique_ptr<Engine> open_engine(const EngineOptions& options) {
  using Open = std::unique_ptr<Engine> (*)(const EngineOptions&);
  static const std::map<std::string, Open> engines{
      {"lunar", open_lunar}, {"sqlite", open_sqlite}, {"lmdb", open_lmdb}, {"raw", open_raw}};
  return engines.at(options.engine)(options);
}

nlohmann::json result(const CLI::App& app, const Options& options) {
  if (app.got_subcommand("replay")) return replay(options.trace);
  if (app.got_subcommand("age")) return age(options.aging);
  if (app.got_subcommand("calls")) return calls(options.calling);
  if (app.got_subcommand("wear")) return wear(options.logging);
  if (app.got_subcommand("refused")) return refused(options.megabytes);
  if (app.got_subcommand("idle")) return idle(options.idle_buffer);
  auto engine_options = options.engine;
  if (app.got_subcommand("grow")) return grow(options.growing, [&] { return open_engine(engine_options); });
  if (app.got_subcommand("change")) engine_options.card_bytes = device_bytes(options.changing);
  const auto engine = open_engine(engine_options);
  return app.got_subcommand("change") ? change(*engine, options.changing) : measure(*engine, options.work);
}

}  // namespace
}  // namespace lunar_bench

int main(int argc, char** argv) {
  lunar_bench::Options options;
  CLI::App app("One measurement of lunar or a peer, as JSON");
  app.require_subcommand(1);
  lunar_bench::add_run(app, options);
  lunar_bench::add_growth(app, options);
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
  wear->add_option("--sectors", options.logging.sectors, "of the device");
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
