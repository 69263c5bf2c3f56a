#include "mobibench_client.h"

namespace edgejoule::driver {

RowUpdater::RowUpdater(MobibenchWork& work, Session& session, unsigned number)
    : Client(work, session),
      rows_(work.workload.rows),
      value_bytes_(work.workload.value_bytes),
      random_(client_seed(work.seed, number)),
      values_(work.values) {}

std::uint64_t RowUpdater::step(std::uint64_t /*most*/) {
  const auto key = key_.of(random_.below(rows_));
  const Field field{RecordBatch::field_name, values_.next(value_bytes_)};
  const auto begin = now();
  const auto status = session().update(key, Fields(&field, 1));
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
      place_(number) {}

std::uint64_t RowRemover::step(std::uint64_t /*most*/) {
  if (place_ >= rows_) return 0;
  const auto key = key_.of(order_.at(place_));
  place_ += stride_;
  const auto begin = now();
  const auto status = session().remove(key);
  measure(Operation::remove, status, begin, now());
  if (status >= Status::error) stop_because(Operation::remove, status, key);
  return 1;
}

}  // namespace edgejoule::driver
