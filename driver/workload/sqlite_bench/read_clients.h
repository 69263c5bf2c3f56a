// The clients of the reading benchmarks.
#pragma once

#include <string>
#include <vector>

#include "run/client.h"
#include "sqlite_bench_workload.h"
#include "system/random.h"
#include "workload/decimal.h"

namespace edgejoule::driver {

// Reads rows by key, random or in order. In order, the clients share the rows and end after the last.
class KeyReader final : public Client {
 public:
  KeyReader(SqliteBenchWork& work, Session& session, unsigned number);

 private:
  std::uint64_t step(std::uint64_t most) override;

  const std::uint64_t rows_;
  const bool sequential_;
  const std::uint64_t stride_;
  Random random_;
  std::uint64_t place_;
  DecimalKey key_{sqlite_bench_key_bytes};
  Row row_;
};

// Reads consecutive rows, many per query. Each client begins at another part of the table and ends with the table. A
// row counts as one operation; a latency is that of one query.
class ScanClient final : public Client {
 public:
  ScanClient(SqliteBenchWork& work, Session& session, unsigned number);

 private:
  std::uint64_t step(std::uint64_t most) override;

  const std::uint64_t scan_records_;
  std::string start_;
  std::vector<Row> rows_;
};

}  // namespace edgejoule::driver
