#include "fill_client.h"

#include <algorithm>

namespace edgejoule::driver::db_bench {

FillClient::FillClient(DbBenchWork& shared, Session& session, unsigned number)
    : DbBenchClient(shared, session, number),
      keys_(memory_size(workload().batch_records), NumberKey(workload().key_bytes)),
      values_(keys_.size()),
      batch_(keys_.size()) {}

std::uint64_t FillClient::step(std::uint64_t most) {
  begin_batch();
  if (batch_.size() > 1) return write_batch(most);
  put(next_number(), workload().value_bytes);
  return 1;
}

std::uint64_t FillClient::write_batch(std::uint64_t most) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(batch_.size(), most));
  for (std::size_t i = 0; i < count; ++i) {
    values_[i] = {"", value(workload().value_bytes)};
    batch_[i] = {keys_[i].of(next_number()), Fields(&values_[i], 1)};
  }
  const auto begin = now();
  const auto status = session().upsert_batch(std::span(batch_).first(count));
  measure(Operation::insert, status, begin, now(), count);
  if (status == Status::ok) measurements().payload_write_bytes += count * workload().value_bytes;
  if (status < Status::error) return count;
  stop_because(Operation::insert, status, "a batch");
  return 0;
}

}  // namespace edgejoule::driver::db_bench
