// The common base of RocksDB's db_bench benchmarks: numbered keys, compressible values, and a generator equal to
// db_bench's, so that with equal seeds each client performs equal operations.
//
// load writes the keys 0 .. num - 1 once, in order (db_bench's fillseq). run performs the benchmark. Counts are totals
// of all clients; db_bench counts per thread. A put counts as INSERT, a get as READ, a seek with its nexts as SCAN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "run/client.h"
#include "run/workload.h"
#include "workload/compressible_values.h"
#include "workload/property_reader.h"
#include "workload/workload_kinds.h"

namespace edgejoule::driver::db_bench {

class DbBenchWork;

class DbBenchWorkload : public Workload {
 public:
  Command command;
  std::uint64_t keys = 0;
  std::uint64_t key_bytes = 0;
  std::uint64_t value_bytes = 0;
  double compression_ratio = 0;
  std::uint64_t batch_records = 1;  // of the fill benchmarks

  [[nodiscard]] std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const final;

  // Creates a client of a run.
  [[nodiscard]] virtual std::unique_ptr<Client> client(DbBenchWork& work, Session& session, unsigned number) const = 0;

 protected:
  // operations: db_bench's name for YCSB's operationcount. Throws UsageError.
  DbBenchWorkload(const Properties& properties, Command command, const std::string& operations);

  // Number of clients that a run adds to those the user asked for.
  [[nodiscard]] virtual unsigned companions() const { return 0; }
};

class DbBenchWork final : public Work {
 public:
  DbBenchWork(const DbBenchWorkload& workload, std::uint64_t seed, unsigned threads);

  [[nodiscard]] std::unique_ptr<Client> client(Session& session, unsigned number) override;

  const DbBenchWorkload& workload;
  const CompressibleValues values;
};

// Creates a kind with the common properties and those given.
[[nodiscard]] WorkloadKind db_bench_kind(
    const std::string& name, const std::string& summary, const std::vector<PropertyHelp>& own_properties,
    std::function<std::unique_ptr<const Workload>(const Properties&, Command)> make);

}  // namespace edgejoule::driver::db_bench
