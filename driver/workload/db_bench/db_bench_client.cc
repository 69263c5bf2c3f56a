#include "db_bench_client.h"

#include <fmt/format.h>

namespace edgejoule::driver::db_bench {
namespace {

// db_bench counts its threads from 1.
std::uint64_t thread_seed(std::uint64_t seed, unsigned number) { return seed + number + 1; }

// The number, because a key may contain any bytes.
std::string shown(std::uint64_t number) { return fmt::format("key {}", number); }

}  // namespace

DbBenchClient::DbBenchClient(DbBenchWork& shared, Session& session, unsigned number)
    : Client(shared, session),
      shared_(shared),
      random_(thread_seed(shared.seed, number)),
      below_keys_(shared.workload.keys),
      key_(shared.workload.key_bytes),
      values_(shared.values) {}

void DbBenchClient::put(std::uint64_t number, std::uint64_t value_bytes) {
  const Field field{"", value(value_bytes)};
  const auto begin = now();
  const auto status = session().upsert(key(number), Fields(&field, 1));
  measure(Operation::insert, status, begin, now());
  if (status == Status::ok) measurements().payload_write_bytes += value_bytes;
  if (status >= Status::error) stop_because(Operation::insert, status, shown(number));
}

void DbBenchClient::get(std::uint64_t number) {
  const auto begin = now();
  const auto status = session().read(key(number), nameless, row_);
  measure(Operation::read, status, begin, now());
  if (status >= Status::error) return stop_because(Operation::read, status, shown(number));
  if (status == Status::ok) measurements().payload_read_bytes += payload_of(row_.fields);
}

void DbBenchClient::seek(std::uint64_t number, std::uint64_t records) {
  const auto begin = now();
  const auto status = session().scan(key(number), records, nameless, rows_);
  measure(Operation::scan, status, begin, now());
  if (status >= Status::error) return stop_because(Operation::scan, status, shown(number));
  if (status != Status::ok) return;
  for (const auto& row : rows_) measurements().payload_read_bytes += payload_of(row.fields);
}

}  // namespace edgejoule::driver::db_bench
