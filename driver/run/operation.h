// The operation types and their possible results, with YCSB's names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "contract/adapter.h"

namespace edgejoule::driver {

enum class Operation : std::uint8_t { read, update, insert, scan, remove, read_modify_write, verify };
inline constexpr std::size_t operation_kinds = 7;
inline constexpr std::array<std::string_view, operation_kinds> operation_names{
    "READ", "UPDATE", "INSERT", "SCAN", "DELETE", "READ-MODIFY-WRITE", "VERIFY"};
static_assert(static_cast<std::size_t>(Operation::verify) + 1 == operation_kinds);
static_assert(operation_names[static_cast<std::size_t>(Operation::remove)] == "DELETE");

inline constexpr std::size_t status_kinds = 5;
inline constexpr std::array<std::string_view, status_kinds> status_names{"OK", "NOT_FOUND", "BUSY", "ERROR",
                                                                         "UNEXPECTED_STATE"};
static_assert(static_cast<std::size_t>(Status::unexpected_state) + 1 == status_kinds);
static_assert(Status::error > Status::busy && Status::error < Status::unexpected_state, "from error on, the run ends");

[[nodiscard]] inline std::string_view name_of(Operation operation) {
  return operation_names[static_cast<std::size_t>(operation)];
}
[[nodiscard]] inline std::string_view name_of(Status status) { return status_names[static_cast<std::size_t>(status)]; }

}  // namespace edgejoule::driver
