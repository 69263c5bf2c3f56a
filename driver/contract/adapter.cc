#include "adapter.h"

#include <fmt/format.h>

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

std::string LeftOutAdapter::way_out() const {
  if (why.empty())
    return fmt::format("not in this build; install {}, then `cmake --preset release` and build", install);
  return fmt::format("cannot be loaded: {}; install {}, or build the driver anew", why, install);
}

}  // namespace edgejoule::driver
