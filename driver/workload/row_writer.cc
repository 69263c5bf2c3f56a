#include "row_writer.h"

#include <algorithm>

#include "system/memory_size.h"

namespace edgejoule::driver {

RowWriter::RowWriter(Work& work, Session& session, unsigned number, const RowWriting& writing,
                     const db_bench::CompressibleValues& values)
    : Client(work, session),
      writing_(writing),
      random_(client_seed(work.seed, number)),
      place_(number),
      stride_(work.threads),
      key_(writing.key_width),
      values_(values),
      batch_(memory_size(writing.batch_records)) {
  if (writing_.order == RowWriting::Order::each_once) permutation_.emplace(writing_.count, work.seed);
}

// Nothing: this client has written all its rows.
std::optional<std::uint64_t> RowWriter::next_row() {
  if (writing_.order == RowWriting::Order::drawn) return writing_.first + random_.below(writing_.count);
  if (writing_.count > 0 && place_ >= writing_.count) return std::nullopt;
  const auto number = permutation_ ? permutation_->at(place_) : place_;
  place_ += stride_;
  return writing_.first + number;
}

Status RowWriter::write() {
  const auto& record = batch_.records()[0];
  if (batch_.capacity() == 1) {
    return writing_.replace ? session().upsert(record.key, record.fields) : session().insert(record.key, record.fields);
  }
  return writing_.replace ? session().upsert_batch(batch_.records()) : session().insert_batch(batch_.records());
}

std::uint64_t RowWriter::step(std::uint64_t most) {
  batch_.clear();
  const auto size = std::min<std::uint64_t>(batch_.capacity(), most);
  while (batch_.size() < size) {
    const auto row = next_row();
    if (!row) break;
    batch_.add(key_.of(*row), values_.next(writing_.value_bytes));
  }
  if (batch_.size() == 0) return 0;
  const auto begin = now();
  const auto status = write();
  measure(Operation::insert, status, begin, now(), batch_.size());
  if (status == Status::ok) measurements().payload_write_bytes += batch_.payload_bytes();
  const auto tolerated = writing_.complete ? Status::ok : Status::busy;
  if (status > tolerated) stop_because(Operation::insert, status, batch_.records()[0].key);
  return batch_.size();
}

}  // namespace edgejoule::driver
