#include "mobibench_client.h"

#include "system/check.h"

namespace edgejoule::driver {

RowUpdater::RowUpdater(MobibenchWork& work, Session& session, unsigned number)
    : Client(work, session),
      rows_(work.workload.rows),
      value_bytes_(work.workload.value_bytes),
      replaces_(work.workload.update_replaces),
      random_(client_seed(work.seed, number)),
      values_(work.values) {
  EJ_CHECK(rows_ > 0 && number < work.threads, rows_, number, work.threads);
}

std::uint64_t RowUpdater::step(std::uint64_t /*most*/) {
  const auto row = random_.below(rows_);
  EJ_CHECK(row < rows_, row, rows_);
  const auto key = key_.of(row);
  const Field field{RecordBatch::field_name, values_.next(value_bytes_)};
  const auto begin = now();
  const Fields fields(&field, 1);
  const auto status = replaces_ ? session().replace(key, fields) : session().update(key, fields);
  measure(Operation::update, status, begin, now());
  if (status == Status::ok) measurements().payload_write_bytes += value_bytes_;
  if (status >= Status::error) stop_because(Operation::update, status, key);
  return 1;
}

RowRemover::RowRemover(MobibenchWork& work, Session& session, unsigned number)
    : Client(work, session),
      rows_(work.workload.rows),
      stride_(work.threads),
      order_(rows_, work.seed),
      place_(number) {
  EJ_CHECK(number < stride_, number, stride_);  // otherwise another client removes the same rows
}

std::uint64_t RowRemover::step(std::uint64_t /*most*/) {
  if (place_ >= rows_) return 0;
  const auto row = order_.at(place_);
  EJ_CHECK(row < rows_, row, rows_, place_);
  const auto key = key_.of(row);
  place_ += stride_;
  const auto begin = now();
  const auto status = session().remove(key);
  measure(Operation::remove, status, begin, now());
  if (status >= Status::error) stop_because(Operation::remove, status, key);
  return 1;
}

}  // namespace edgejoule::driver
