// What one of the benchmarks is asked to do, read from properties and checked.
#pragma once

#include "../db_bench/compressible_values.h"
#include "../row_writer.h"
#include "../workload.h"
#include "benchmark.h"

namespace edgejoule::driver {

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

}  // namespace edgejoule::driver
