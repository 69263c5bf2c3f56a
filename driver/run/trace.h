// A trace: the operations of a run in order of time, one per line.
//
//   time_s,op,key,size          the first line, always
//   0,read,user1,
//   0.000012345,update,user1,100
//
// time_s: seconds from any origin, not decreasing, precise to 1 ns.
// op: read, update, insert, upsert, scan, delete or rmw (read-modify-write).
// key: bytes; '%', ',', '"', control characters and bytes from 0x7F on are written %XX (hexadecimal).
// size: for update, insert, upsert and rmw the bytes of the values; for scan the number of records asked for; for read
// the bytes of the row. It may be empty (unknown) for read and delete.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace edgejoule::driver {

enum class TraceOperation : std::uint8_t { read, update, insert, upsert, scan, remove, read_modify_write };
inline constexpr std::size_t trace_operation_kinds = 7;
inline constexpr std::array<std::string_view, trace_operation_kinds> trace_operation_names{
    "read", "update", "insert", "upsert", "scan", "delete", "rmw"};
static_assert(static_cast<std::size_t>(TraceOperation::read_modify_write) + 1 == trace_operation_kinds);
static_assert(trace_operation_names[static_cast<std::size_t>(TraceOperation::remove)] == "delete");

inline constexpr std::string_view trace_header = "time_s,op,key,size";

struct TraceLine {
  std::uint64_t time_ns;
  TraceOperation operation;
  std::string_view key;  // valid until the next line is read
  std::optional<std::uint64_t> size;
};

}  // namespace edgejoule::driver
