// fillrandom: writes random keys. The database need not exist.
#include "fill_client.h"
#include "kinds.h"

namespace edgejoule::driver::db_bench {
namespace {

class FillRandom final : public DbBenchWorkload {
 public:
  FillRandom(const Properties& properties, Command the_command) : DbBenchWorkload(properties, the_command, "writes") {
    creates = true;
  }

  [[nodiscard]] std::unique_ptr<Client> client(DbBenchWork& work, Session& session, unsigned number) const override {
    return std::make_unique<RandomFill>(work, session, number);
  }
};

}  // namespace

WorkloadKind fillrandom() {
  return db_bench_kind(
      "fillrandom", "db_bench: writes random keys; also works on a new database",
      {{"writes", PropertyType::count, "records to write; also set by operationcount", "num"}},
      [](const Properties& properties, Command command) { return std::make_unique<FillRandom>(properties, command); });
}

}  // namespace edgejoule::driver::db_bench
