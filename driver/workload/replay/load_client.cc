#include "load_client.h"

#include <algorithm>

#include "system/memory_size.h"

namespace edgejoule::driver {

ReplayLoadClient::ReplayLoadClient(ReplayWork& work, Session& session, unsigned number)
    : Client(work, session),
      work_(work),
      workload_(work.workload),
      lines_(work, number),
      random_bytes_(value_seed(work.seed, Command::load, number)),
      made_(memory_size(workload_.load_batch_records), Made(work)),
      records_(made_.size()) {}

// The next line with a new key whose first operation in the trace is not an insert.
const TraceLine* ReplayLoadClient::next_missing() {
  while (const auto* line = work_.stop.load(std::memory_order_relaxed) ? nullptr : lines_.next()) {
    const bool first = seen_.add(key_hash(line->key));
    const bool inserts = line->operation == TraceOperation::insert || line->operation == TraceOperation::upsert;
    if (first && !inserts) return line;
  }
  return nullptr;
}

// Bytes of the whole row, if the key's first line states them.
std::uint64_t ReplayLoadClient::bytes_of(const TraceLine& line) const {
  const bool writes_whole = workload_.fields.size() == 1 || workload_.write_all_fields;
  const bool updates = line.operation == TraceOperation::update || line.operation == TraceOperation::read_modify_write;
  const bool says = line.operation == TraceOperation::read || (updates && writes_whole);
  return says ? line.size.value_or(workload_.value_bytes) : workload_.value_bytes;
}

std::uint64_t ReplayLoadClient::step(std::uint64_t most) {
  const auto size = std::min<std::uint64_t>(made_.size(), most);
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (; count < size; ++count) {
    const auto* line = next_missing();
    if (line == nullptr) break;
    auto& made = made_[count];
    made.key.assign(line->key);
    records_[count] = {made.key, made.values.all(random_bytes_, bytes_of(*line))};
    bytes += payload_of(records_[count].fields);
  }
  if (count == 0) return 0;
  const auto begin = now();
  const auto status = session().insert_batch(std::span(records_).first(count));
  measure(Operation::insert, status, begin, now(), count);
  if (status == Status::ok) {
    measurements().payload_write_bytes += bytes;
    return count;
  }
  // Even if the database was only busy: otherwise the replay would lack these rows.
  stop_because(Operation::insert, status, records_[0].key);
  return 0;
}

}  // namespace edgejoule::driver
