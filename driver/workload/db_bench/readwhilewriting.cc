// readwhilewriting: the clients read random keys. One additional client, number 0, writes random keys until they have
// ended.
#include "db_bench_client.h"
#include "kinds.h"

namespace edgejoule::driver::db_bench {
namespace {

class ReadWhileWriting final : public DbBenchWorkload {
 public:
  ReadWhileWriting(const Properties& properties, Command the_command)
      : DbBenchWorkload(properties, the_command, "reads"),
        write_bytes_s(PropertyReader(properties, in_force).number("benchmark_write_rate_limit", 0)) {}

  [[nodiscard]] std::unique_ptr<Client> client(DbBenchWork& work, Session& session, unsigned number) const override;

  const std::uint64_t write_bytes_s;  // keys and values; 0: no limit

 private:
  [[nodiscard]] unsigned companions() const override { return 1; }
};

class Reader final : public DbBenchClient {
 public:
  Reader(DbBenchWork& shared, Session& session, unsigned number) : DbBenchClient(shared, session, number) {}

 private:
  std::uint64_t step(std::uint64_t) override {
    draw_database();
    get(draw_key());
    return 1;
  }
};

class Writer final : public DbBenchClient {
 public:
  Writer(DbBenchWork& shared, Session& session, std::uint64_t bytes_s)
      : DbBenchClient(shared, session, 0),
        record_ns_(bytes_s == 0 ? 0
                                : static_cast<double>(workload().key_bytes + workload().value_bytes) * 1e9 /
                                      static_cast<double>(bytes_s)) {}

  [[nodiscard]] bool accompanies() const override { return true; }

 private:
  std::uint64_t step(std::uint64_t) override {
    draw_database();
    put(draw_key(), workload().value_bytes);
    ++written_;
    return 1;
  }

  [[nodiscard]] bool has_times() const override { return record_ns_ > 0; }
  [[nodiscard]] std::uint64_t due_ns() override {
    return static_cast<std::uint64_t>(static_cast<double>(written_) * record_ns_);
  }

  double record_ns_;  // 0: no limit
  std::uint64_t written_ = 0;
};

std::unique_ptr<Client> ReadWhileWriting::client(DbBenchWork& work, Session& session, unsigned number) const {
  if (number == 0) return std::make_unique<Writer>(work, session, write_bytes_s);
  return std::make_unique<Reader>(work, session, number);
}

}  // namespace

WorkloadKind readwhilewriting() {
  return db_bench_kind("readwhilewriting",
                       "db_bench: clients read random keys while one more client writes random keys",
                       {{"reads", PropertyType::count, "records to read; also set by operationcount", "num"},
                        {"benchmark_write_rate_limit", PropertyType::count,
                         "limit of the writing client, bytes of keys and values per second; 0: none", "0"}},
                       [](const Properties& properties, Command command) {
                         return std::make_unique<ReadWhileWriting>(properties, command);
                       });
}

}  // namespace edgejoule::driver::db_bench
