#include "sqlite_bench_workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "read_clients.h"
#include "workload/property_reader.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t rows_max = 10'000'000'000'000'000;  // 16 digits
constexpr std::uint64_t value_bytes_max = 1U << 30U;
constexpr std::uint64_t load_batch_records = 1000;
constexpr double compression_ratio = 0.5;

std::vector<std::pair<std::string_view, SqliteBenchmark>> by_name() {
  std::vector<std::pair<std::string_view, SqliteBenchmark>> choices;
  for (const auto& benchmark : sqlite_benchmarks()) choices.emplace_back(benchmark.name, benchmark);
  return choices;
}

}  // namespace

const std::vector<SqliteBenchmark>& sqlite_benchmarks() {
  using enum SqliteBenchmark::Deed;
  static const std::vector<SqliteBenchmark> benchmarks{{"fillseq", fill, true, false, 1, 1, 0},
                                                       {"fillseqsync", fill, true, true, 1, 100, 0},
                                                       {"fillseqbatch", fill, true, false, 1000, 1, 0},
                                                       {"fillrandom", fill, false, false, 1, 1, 0},
                                                       {"fillrandsync", fill, false, true, 1, 100, 0},
                                                       {"fillrandbatch", fill, false, false, 1000, 1, 0},
                                                       {"overwrite", overwrite, false, false, 1, 1, 0},
                                                       {"overwritebatch", overwrite, false, false, 1000, 1, 0},
                                                       {"readrandom", read, false, false, 1, 1, 0},
                                                       {"readseq", read, true, false, 1, 1, 0},
                                                       {"fillrand100K", fill, false, false, 1, 1000, 100'000},
                                                       {"fillseq100K", fill, true, false, 1, 1000, 100'000},
                                                       {"readrand100K", read, false, false, 1, 1000, 100'000}};
  return benchmarks;
}

SqliteBenchWorkload::SqliteBenchWorkload(const Properties& properties, Command the_command) : command(the_command) {
  PropertyReader reader(properties, in_force);
  in_force["workload"] = "sqlite-bench";
  benchmark = reader.choice<SqliteBenchmark>("sqlite-bench.benchmark", "fillseq", by_name());
  rows = std::max<std::uint64_t>(1, reader.number("recordcount", 1'000'000, 1, rows_max) / benchmark.divisor);
  const auto value_default = benchmark.value_bytes > 0 ? benchmark.value_bytes : 100;
  value_bytes = reader.number("sqlite-bench.value_bytes", value_default, 1, value_bytes_max);
  read_by_key = reader.choice<bool>("sqlite-bench.readseq", "scan", {{"scan", false}, {"point", true}});
  scan_records = reader.number("sqlite-bench.scan_records", 1000, 1, 1'000'000'000);
  seconds_max = reader.number("maxexecutiontime", 0, 0, 1'000'000'000);
  operations = command == Command::load ? rows : reader.number("operationcount", rows);
  if (operations == 0 && seconds_max == 0) {
    refuse(properties, "operationcount", "the run would never end: expected a number above 0, or maxexecutiontime");
  }
  if (benchmark.sequential && benchmark.deed != SqliteBenchmark::Deed::read && operations > rows) {
    refuse(properties, "operationcount",
           fmt::format("{} writes each of its {} rows once (recordcount / {})", in_force["sqlite-bench.benchmark"],
                       rows, benchmark.divisor));
  }
  each_key_once = command == Command::load;
  creates = benchmark.deed == SqliteBenchmark::Deed::fill;
  choose_defaults(properties);
}

// The originals' pragmas: a cache of 4096 pages, a WAL of the same size, exclusive locks, a table without rowid.
void SqliteBenchWorkload::choose_defaults(const Properties& properties) {
  defaults = {{"durability", benchmark.synchronous ? "power" : "none"},
              {"sqlite.cache_bytes", "16777216"},
              {"sqlite.journal_mode", "wal"},
              {"sqlite.wal_autocheckpoint_pages", "4096"},
              {"sqlite.without_rowid", "true"}};
  if (properties.get_u64("threadcount", 1) == 1) defaults["sqlite.locking_mode"] = "exclusive";
}

std::unique_ptr<Work> SqliteBenchWorkload::begin(std::uint64_t seed, unsigned threads, bool /*verify*/) const {
  return std::make_unique<SqliteBenchWork>(*this, seed, threads);
}

SqliteBenchWork::SqliteBenchWork(const SqliteBenchWorkload& the_workload, std::uint64_t the_seed, unsigned the_threads)
    : Work(the_seed, the_threads), workload(the_workload), values(compression_ratio, the_workload.value_bytes) {}

RowWriting SqliteBenchWork::writing() const {
  const bool loads = workload.command == Command::load;
  const bool sequential = loads || workload.benchmark.sequential;
  return {.order = sequential ? RowWriting::Order::sequential : RowWriting::Order::drawn,
          .complete = loads,
          .replace = true,
          .count = workload.rows,
          .key_width = sqlite_bench_key_bytes,
          .value_bytes = workload.value_bytes,
          .batch_records = loads ? load_batch_records : workload.benchmark.batch_records};
}

std::unique_ptr<Client> SqliteBenchWork::client(Session& session, unsigned number) {
  if (workload.command == Command::load || workload.benchmark.deed != SqliteBenchmark::Deed::read) {
    return std::make_unique<RowWriter>(*this, session, number, writing(), values);
  }
  if (workload.benchmark.sequential && !workload.read_by_key) {
    return std::make_unique<ScanClient>(*this, session, number);
  }
  return std::make_unique<KeyReader>(*this, session, number);
}

WorkloadKind sqlite_bench() {
  using enum PropertyType;
  std::vector<std::string> names;
  for (const auto& benchmark : sqlite_benchmarks()) names.emplace_back(benchmark.name);
  return {
      "sqlite-bench",
      "LevelDB's db_bench_sqlite3: fills, overwrites and reads of small rows (default durability: none; "
      "power in synchronous benchmarks)",
      {{"sqlite-bench.benchmark", text,
        "fillseq, fillseqsync, fillseqbatch, fillrandom, fillrandsync, fillrandbatch, overwrite, overwritebatch, "
        "readrandom, readseq, fillrand100K, fillseq100K or readrand100K",
        "fillseq", names},
       {"sqlite-bench.value_bytes", count, "bytes of a row's value", "100; 100000 in benchmarks of 100K"},
       {"sqlite-bench.readseq",
        text,
        "scan: each query reads many rows, like db_bench_sqlite3; point: each query reads one row, like sqlite-bench",
        "scan",
        {"scan", "point"}},
       {"sqlite-bench.scan_records", count, "rows of one query (readseq=scan)", "1000"}},
      {{"keytype", "blob"}, {"fieldtype", "blob"}, {"fieldcount", "1"}},
      [](const Properties& properties, Command command) {
        return std::make_unique<SqliteBenchWorkload>(properties, command);
      }};
}

}  // namespace edgejoule::driver
