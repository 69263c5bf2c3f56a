// The benchmarks of LevelDB's db_bench_sqlite3 and of its port sqlite-bench (used by the LUNAR paper, section 4.1). The
// property sqlite-bench.benchmark takes their names. Keys have 16 digits and values 100 bytes, both blobs.
//
// load writes the keys 0 .. n - 1 once, in order, in batches. run performs the benchmark. A fill benchmark begins
// without a database.
//
// This file: the settings of one benchmark, read from properties and checked.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "run/workload.h"
#include "workload/compressible_values.h"
#include "workload/row_writer.h"
#include "workload/workload_kinds.h"

namespace edgejoule::driver {

struct SqliteBenchmark {
  enum class Deed : std::uint8_t { fill, overwrite, read };

  std::string_view name;
  Deed deed;
  bool sequential;
  bool synchronous;             // durability class power, else none
  std::uint64_t batch_records;  // rows per transaction
  std::uint64_t divisor;        // divides the number of rows and of reads
  std::uint64_t value_bytes;    // 0: set by the user
};

// In the order of the originals.
[[nodiscard]] const std::vector<SqliteBenchmark>& sqlite_benchmarks();

class Properties;

class SqliteBenchWorkload final : public Workload {
 public:
  // Throws UsageError.
  SqliteBenchWorkload(const Properties& properties, Command command);

  [[nodiscard]] std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const override;

  Command command;
  SqliteBenchmark benchmark;
  std::uint64_t rows;  // of the whole table; keys are drawn from this range
  std::uint64_t value_bytes;
  bool read_by_key;            // readseq: one query per row
  std::uint64_t scan_records;  // readseq otherwise: rows per query

 private:
  void choose_defaults(const Properties& properties);
};

class SqliteBenchWork final : public Work {
 public:
  SqliteBenchWork(const SqliteBenchWorkload& workload, std::uint64_t seed, unsigned threads);

  [[nodiscard]] std::unique_ptr<Client> client(Session& session, unsigned number) override;

  const SqliteBenchWorkload& workload;
  const db_bench::CompressibleValues values;

 private:
  [[nodiscard]] RowWriting writing() const;
};

inline constexpr std::size_t sqlite_bench_key_bytes = 16;

[[nodiscard]] WorkloadKind sqlite_bench();

}  // namespace edgejoule::driver
