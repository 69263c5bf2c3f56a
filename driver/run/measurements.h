// The measurements of the clients: for each operation type the statuses, service and intended latencies, and payload.
#pragma once

#include <array>
#include <cstdint>

#include "contract/adapter.h"
#include "failure_causes.h"
#include "histogram.h"
#include "operation.h"

namespace edgejoule::driver {

struct OperationMeasure {
  std::array<std::uint64_t, status_kinds> returns{};
  Histogram service;                                    // ns, of operations that returned OK
  Histogram intended;                                   // ns since the operation was due, of the same
  std::array<Histogram, status_kinds> failed;           // ns, of all other operations, by status
  std::array<Histogram, status_kinds> failed_intended;  // ns since the operation was due, of the same

  [[nodiscard]] std::uint64_t failures() const;  // operations that did not return OK

  void add(const OperationMeasure& other);
  void clear();

  // There are no more latencies than calls that returned the status, and no more intended than service latencies.
  void check_invariants() const;
};

struct Measurements {
  std::array<OperationMeasure, operation_kinds> operations;
  std::uint64_t payload_read_bytes = 0;
  std::uint64_t payload_write_bytes = 0;
  FailureCauses causes;

  OperationMeasure& of(Operation operation) { return operations[static_cast<std::size_t>(operation)]; }
  [[nodiscard]] const OperationMeasure& of(Operation operation) const {
    return operations[static_cast<std::size_t>(operation)];
  }

  void add(const Measurements& other);  // other must not be *this
  void clear();

  // Database calls that returned the status. Operations made of several calls (READ-MODIFY-WRITE, VERIFY) are left out.
  [[nodiscard]] std::uint64_t calls_that_returned(Status status) const;
};

}  // namespace edgejoule::driver
