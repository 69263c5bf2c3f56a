// What RocksDB's db_bench benchmarks have in common: numbered keys, values that compress, and draws of a generator that
// equals db_bench's, so that equal seeds give equal operations, client by client.
//
// load writes the keys 0 .. num - 1, each once and in order (db_bench's fillseq); run is the benchmark. Counts are of
// all clients together, where db_bench's are of each thread. A put is counted as INSERT, a get as READ, a seek with its
// nexts as SCAN.
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
  std::uint64_t batch_records = 1;  // of what fills

  [[nodiscard]] std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const final;

  // The client of a run.
  [[nodiscard]] virtual std::unique_ptr<Client> client(DbBenchWork& work, Session& session, unsigned number) const = 0;

 protected:
  // operations: db_bench's name for YCSB's operationcount. Throws UsageError.
  DbBenchWorkload(const Properties& properties, Command command, const std::string& operations);

  // Clients of a run beside those that were asked for.
  [[nodiscard]] virtual unsigned companions() const { return 0; }
};

class DbBenchWork final : public Work {
 public:
  DbBenchWork(const DbBenchWorkload& workload, std::uint64_t seed, unsigned threads);

  [[nodiscard]] std::unique_ptr<Client> client(Session& session, unsigned number) override;

  const DbBenchWorkload& workload;
  const CompressibleValues values;
};

// A kind with the properties that all have and those of its own.
[[nodiscard]] WorkloadKind db_bench_kind(
    const std::string& name, const std::string& summary, const std::vector<PropertyHelp>& own_properties,
    std::function<std::unique_ptr<const Workload>(const Properties&, Command)> make);

}  // namespace edgejoule::driver::db_bench
