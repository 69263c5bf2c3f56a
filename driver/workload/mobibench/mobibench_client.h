// The clients of Mobibench that change existing rows.
#pragma once

#include "mobibench_workload.h"
#include "run/client.h"
#include "system/random.h"
#include "workload/decimal.h"
#include "workload/permutation.h"

namespace edgejoule::driver {

// Updates random rows, uniformly distributed.
class RowUpdater final : public Client {
 public:
  RowUpdater(MobibenchWork& work, Session& session, unsigned number);

 private:
  std::uint64_t step(std::uint64_t most) override;

  const std::uint64_t rows_;
  const std::uint64_t value_bytes_;
  const bool replaces_;
  Random random_;
  DecimalKey key_{0};
  db_bench::ValueCutter values_;
};

// Deletes each row once in a random order. The clients share the rows.
class RowRemover final : public Client {
 public:
  RowRemover(MobibenchWork& work, Session& session, unsigned number);

 private:
  std::uint64_t step(std::uint64_t most) override;

  const std::uint64_t rows_;
  const std::uint64_t stride_;
  const Permutation order_;
  std::uint64_t place_;
  DecimalKey key_{0};
};

}  // namespace edgejoule::driver
