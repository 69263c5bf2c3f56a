#include "read_clients.h"

#include <algorithm>

#include "system/check.h"

namespace edgejoule::driver {

KeyReader::KeyReader(SqliteBenchWork& work, Session& session, unsigned number)
    : Client(work, session),
      rows_(work.workload.rows),
      sequential_(work.workload.benchmark.sequential),
      stride_(work.threads),
      random_(client_seed(work.seed, number)),
      place_(number) {
  EJ_CHECK(number < stride_, number, stride_);
}

std::uint64_t KeyReader::step(std::uint64_t /*most*/) {
  if (sequential_ && place_ >= rows_) return 0;
  const auto row = sequential_ ? place_ : random_.below(rows_);
  EJ_CHECK(row < rows_, row, rows_);
  const auto key = key_.of(row);
  place_ += stride_;
  const auto begin = now();
  const auto status = session().read(key, {}, row_);
  measure(Operation::read, status, begin, now());
  if (status == Status::ok) measurements().payload_read_bytes += payload_of(row_.fields);
  if (status >= Status::error) stop_because(Operation::read, status, key);
  return 1;
}

ScanClient::ScanClient(SqliteBenchWork& work, Session& session, unsigned number)
    : Client(work, session),
      scan_records_(work.workload.scan_records),
      start_(DecimalKey(sqlite_bench_key_bytes).of(work.workload.rows / work.threads * number)) {}

std::uint64_t ScanClient::step(std::uint64_t most) {
  const auto begin = now();
  const auto status = session().scan(start_, std::min(scan_records_, most), {}, rows_);
  const auto end = now();
  if (status >= Status::error) {
    measure(Operation::scan, status, begin, end);
    stop_because(Operation::scan, status, start_);
    return 0;
  }
  if (status == Status::ok && rows_.empty()) return 0;
  const auto count = status == Status::ok ? rows_.size() : 1;
  measure(Operation::scan, status, begin, end, count);
  if (status != Status::ok) return count;
  for (const auto& row : rows_) measurements().payload_read_bytes += payload_of(row.fields);
  start_.assign(rows_.back().key);
  start_ += '\0';  // the smallest key above this one
  return count;
}

}  // namespace edgejoule::driver
