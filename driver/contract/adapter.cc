#include "adapter.h"

namespace edgejoule::driver {

Status Session::insert_batch(std::span<const Record> records) {
  for (const Record& record : records) {
    const Status status = insert(record.key, record.fields);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

Status Session::upsert_batch(std::span<const Record> records) {
  for (const Record& record : records) {
    const Status status = upsert(record.key, record.fields);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

}  // namespace edgejoule::driver
