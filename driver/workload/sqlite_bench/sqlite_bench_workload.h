// The benchmarks of LevelDB's db_bench_sqlite3 and of its port sqlite-bench (used by the LUNAR paper, section 4.1),
// whose names the property sqlite-bench.benchmark takes: keys of 16 digits and values of 100 bytes, both blobs.
//
// load writes the keys 0 .. n - 1, each once and in order, in batches; run is the benchmark. One that fills begins
// without a database.
//
// This file: what one of the benchmarks is asked to do, read from properties and checked.
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
  std::uint64_t batch_records;  // rows in a transaction
  std::uint64_t divisor;        // of the number of rows, and of reads
  std::uint64_t value_bytes;    // 0: as the user says
};

// In the order in which the originals run them.
[[nodiscard]] const std::vector<SqliteBenchmark>& sqlite_benchmarks();

class Properties;

class SqliteBenchWorkload final : public Workload {
 public:
  // Throws UsageError.
  SqliteBenchWorkload(const Properties& properties, Command command);

  [[nodiscard]] std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const override;

  Command command;
  SqliteBenchmark benchmark;
  std::uint64_t rows;  // of the whole table; keys are drawn among as many
  std::uint64_t value_bytes;
  bool read_by_key;            // readseq: one query a row
  std::uint64_t scan_records;  // readseq otherwise: rows of one query

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
