#include "measurements.h"

#include "system/check.h"

namespace edgejoule::driver {

void OperationMeasure::check_invariants() const {
  for (std::size_t i = 0; i < status_kinds; ++i) {
    const auto& latencies = i == static_cast<std::size_t>(Status::ok) ? service : failed[i];
    const auto& intended_latencies = i == static_cast<std::size_t>(Status::ok) ? intended : failed_intended[i];
    EJ_CHECK(latencies.count() <= returns[i], status_names[i], latencies.count(), returns[i]);
    EJ_CHECK((latencies.count() == 0) == (returns[i] == 0), status_names[i], latencies.count(), returns[i]);
    EJ_CHECK(intended_latencies.count() <= latencies.count(), status_names[i], intended_latencies.count(),
             latencies.count());
  }
}

void OperationMeasure::add(const OperationMeasure& other) {
  other.check_invariants();
  for (std::size_t i = 0; i < status_kinds; ++i) returns[i] += other.returns[i];
  service.add(other.service);
  intended.add(other.intended);
  for (std::size_t i = 0; i < status_kinds; ++i) failed[i].add(other.failed[i]);
  for (std::size_t i = 0; i < status_kinds; ++i) failed_intended[i].add(other.failed_intended[i]);
}

void OperationMeasure::clear() {
  returns.fill(0);
  service.clear();
  intended.clear();
  for (auto& histogram : failed) histogram.clear();
  for (auto& histogram : failed_intended) histogram.clear();
}

std::uint64_t OperationMeasure::failures() const {
  std::uint64_t count = 0;
  for (const auto& histogram : failed) count += histogram.count();
  return count;
}

void Measurements::add(const Measurements& other) {
  EJ_CHECK(&other != this);
  for (std::size_t i = 0; i < operation_kinds; ++i) operations[i].add(other.operations[i]);
  payload_read_bytes += other.payload_read_bytes;
  payload_write_bytes += other.payload_write_bytes;
  causes.add(other.causes);
}

void Measurements::clear() {
  for (auto& measured : operations) measured.clear();
  payload_read_bytes = payload_write_bytes = 0;
  causes.clear();
}

std::uint64_t Measurements::calls_that_returned(Status status) const {
  std::uint64_t calls = 0;
  for (const auto operation :
       {Operation::read, Operation::update, Operation::insert, Operation::scan, Operation::remove}) {
    calls += of(operation).returns[static_cast<std::size_t>(status)];
  }
  return calls;
}

}  // namespace edgejoule::driver
