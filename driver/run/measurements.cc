#include "measurements.h"

namespace edgejoule::driver {

void OperationMeasure::add(const OperationMeasure& other) {
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
