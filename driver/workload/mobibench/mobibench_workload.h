// Mobibench's database test (Jeong et al., "AndroStep: Android Storage Performance Analysis Tool", 2013; used by the
// LUNAR paper, section 4.1): rows with an integer key and one text, and one transaction for each insert, update or
// delete.
//
// load writes the rows 0 .. recordcount - 1. run inserts further rows, updates random rows (uniformly), or deletes each
// row once in a random order. Transactions are synchronous because the durability class is `power` unless the user
// chooses another.
//
// This file: the settings of a run, read from properties and checked.
#pragma once

#include "run/workload.h"
#include "workload/compressible_values.h"
#include "workload/row_writer.h"
#include "workload/workload_kinds.h"

namespace edgejoule::driver {

class MobibenchWorkload final : public Workload {
 public:
  enum class Deed : std::uint8_t { insert, update, remove };

  // Throws UsageError.
  MobibenchWorkload(const Properties& properties, Command command);

  [[nodiscard]] std::unique_ptr<Work> begin(std::uint64_t seed, unsigned threads, bool verify) const override;

  Command command;
  Deed deed;
  bool random_inserts;
  std::uint64_t rows;  // in the table at the start of a run
  std::uint64_t value_bytes;
  std::uint64_t load_batch_records;

 private:
  void read_operations(const Properties& properties);
};

class MobibenchWork final : public Work {
 public:
  MobibenchWork(const MobibenchWorkload& workload, std::uint64_t seed, unsigned threads);

  [[nodiscard]] std::unique_ptr<Client> client(Session& session, unsigned number) override;

  const MobibenchWorkload& workload;
  const db_bench::CompressibleValues values;

 private:
  [[nodiscard]] RowWriting loading() const;
  [[nodiscard]] RowWriting inserting() const;
};

[[nodiscard]] WorkloadKind mobibench();

}  // namespace edgejoule::driver
